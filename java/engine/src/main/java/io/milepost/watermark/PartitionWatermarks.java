package io.milepost.watermark;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeStatsAccum;
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeWatermarkExec;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Watermarks that wait for the slowest partition.
 *
 * <p>Spark's operator uses the newest event time of all rows, and refuses a second operator above the first, so
 * neither one nor several of them can express this. Here Spark's operator uses a column that is always null and
 * contributes nothing by itself. Every record passes a function that records the event time of its partition. When
 * all tasks of a batch have ended, just before Spark reads the operator, the operator gets the lowest of them. Any
 * failure on the way leaves the watermark where it is.
 */
public final class PartitionWatermarks {
  /** The metadata of the operator's column that names the clock. */
  public static final String CLOCK = "milepost.clock";

  private static final ConcurrentMap<String, Clock> CLOCKS = new ConcurrentHashMap<>();

  private record Clock(PartitionTimes times, Set<String> expected) {}

  private PartitionWatermarks() {}

  /** Called from Python: starts a clock for these partitions, and registers the function that records go through. */
  public static void register(
      org.apache.spark.sql.SparkSession spark, String function, String clock, List<String> partitions) {
    PartitionTimes times = new PartitionTimes();
    ((SparkSession) spark).sparkContext().register(times, "milepost event times of " + clock);
    CLOCKS.put(clock, new Clock(times, Set.copyOf(partitions)));
    // Not deterministic: Spark must not drop it, and lets no filter of the user past it, so that it sees every record.
    spark.udf().register(function, functions.udf(new ObserveFunction(times), DataTypes.BooleanType)
        .asNondeterministic());
  }

  /** Called by the sink on the query's own thread when all tasks of a batch have ended (step 6). */
  public static void advance() {
    if (CLOCKS.isEmpty()) {
      return;
    }
    SparkSession spark = SparkSession.active();
    String id = SparkContext.getOrCreate().getLocalProperty(StreamExecution.QUERY_ID_KEY());
    StreamExecution query = id == null ? null
        : spark.sharedState().activeStreamingQueries().get(UUID.fromString(id));
    if (query != null && query.lastExecution() != null) {
      operators(query.lastExecution().executedPlan()).forEach(PartitionWatermarks::setWatermark);
    }
  }

  private static void setWatermark(EventTimeWatermarkExec operator) {
    Attribute eventTime = operator.eventTime();
    if (!eventTime.metadata().contains(CLOCK)) {
      return;
    }
    Clock clock = CLOCKS.get(eventTime.metadata().getString(CLOCK));
    EventTimeStatsAccum said = operator.eventTimeStats();
    said.reset();
    OptionalLong slowest = clock == null ? OptionalLong.empty() : clock.times().slowest(clock.expected());
    slowest.ifPresent(said::add);
  }

  private static List<EventTimeWatermarkExec> operators(SparkPlan plan) {
    List<EventTimeWatermarkExec> found = new ArrayList<>();
    if (plan instanceof AdaptiveSparkPlanExec adaptive) {
      found.addAll(operators(adaptive.executedPlan()));
    } else if (plan instanceof QueryStageExec stage) {
      found.addAll(operators(stage.plan()));
    } else if (plan instanceof EventTimeWatermarkExec watermark) {
      found.add(watermark);
    }
    CollectionConverters.asJava(plan.children()).forEach(child -> found.addAll(operators(child)));
    return found;
  }
}
