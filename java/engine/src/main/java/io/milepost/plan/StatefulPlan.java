package io.milepost.plan;

import java.util.List;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkPropagator;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.mutable.HashMap;
import scala.jdk.javaapi.CollectionConverters;

/** Which operators of a query keep state, as Spark will number them in its first batch. */
public final class StatefulPlan {
  private static final String NOWHERE = "<unknown>";

  private StatefulPlan() {}

  /** The operators as they call themselves, by their number. Planned as Spark does it to explain a stream: nothing is read or run. */
  public static List<String> operators(Dataset<Row> rows) {
    TreeMap<Long, String> found = new TreeMap<>();
    collect(planned(rows).executedPlan(), found);
    return List.copyOf(found.values());
  }

  private static IncrementalExecution planned(Dataset<Row> rows) {
    LogicalPlan plan = rows.queryExecution().analyzed();
    OffsetSeqMetadata start = new OffsetSeqMetadata(0, 0, Map$.MODULE$.empty());
    return new IncrementalExecution(rows.sparkSession(), plan, OutputMode.Update(), NOWHERE, UUID.randomUUID(), UUID.randomUUID(), 0,
        Option.empty(), start, WatermarkPropagator.noop(), false, new HashMap<>(), new HashMap<>(), CommandExecutionMode.ALL(), false);
  }

  private static void collect(SparkPlan plan, TreeMap<Long, String> found) {
    if (plan instanceof StateStoreWriter writer && writer.stateInfo().isDefined()) {
      found.put(writer.getStateInfo().operatorId(), writer.shortName());
    }
    CollectionConverters.asJava(plan.children()).forEach(child -> collect(child, found));
  }
}
