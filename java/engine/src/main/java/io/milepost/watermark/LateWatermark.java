package io.milepost.watermark;

import java.util.OptionalLong;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** The watermark by which the operators of the running batch drop late rows, passed to tasks as a local property. */
public final class LateWatermark {
  static final String PROPERTY = "milepost.late-watermark-ms";
  static final String BATCH = "streaming.sql.batchId";

  private static final Logger LOG = LoggerFactory.getLogger(LateWatermark.class);

  private LateWatermark() {}

  /**
   * Called by the sink on the query's own thread, when the batch is planned and no task of it has started. Never throws:
   * what is only counted must not fail a checkpoint.
   */
  public static void announce() {
    try {
      SparkSession session = SparkSession.active();
      SparkContext context = session.sparkContext();
      String id = context.getLocalProperty(StreamExecution.QUERY_ID_KEY());
      StreamExecution query = id == null ? null : session.sharedState().activeStreamingQueries().get(UUID.fromString(id));
      IncrementalExecution batch = query == null ? null : query.lastExecution();
      boolean isRunning = batch != null && Long.toString(batch.currentBatchId()).equals(context.getLocalProperty(BATCH));
      OptionalLong watermark = isRunning ? of(batch.executedPlan()) : OptionalLong.empty();
      context.setLocalProperty(PROPERTY, watermark.isPresent() ? Long.toString(watermark.getAsLong()) : null);
    } catch (Exception | LinkageError e) {
      LOG.warn("The watermark of this batch cannot be determined: its late records are not counted", e);
    }
  }

  /** The highest one is that of the operators which see records first; a later one's may be behind it. */
  private static OptionalLong of(SparkPlan plan) {
    OptionalLong highest = own(plan);
    for (SparkPlan child : CollectionConverters.asJava(plan.children())) {
      OptionalLong below = of(child);
      if (below.isPresent() && (highest.isEmpty() || below.getAsLong() > highest.getAsLong())) {
        highest = below;
      }
    }
    return highest;
  }

  private static OptionalLong own(SparkPlan plan) {
    Option<Object> watermark = plan instanceof WatermarkSupport operator ? operator.eventTimeWatermarkForLateEvents()
        : plan instanceof StreamingSymmetricHashJoinExec join ? join.eventTimeWatermarkForLateEvents() : Option.empty();
    return watermark.isDefined() ? OptionalLong.of((Long) watermark.get()) : OptionalLong.empty();
  }
}
