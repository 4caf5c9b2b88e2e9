package io.milepost.job;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.StreamingQueryPlanTraverseHelper;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.streaming.StateOperatorProgress;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * What Spark's state stores have made durable for the batch that is about to be sealed (step 6).
 *
 * <p>A state store commits inside its task, before the writer of the same task or of a later stage acknowledges: when
 * all writers have, the numbers here are complete. Progress events have the same numbers, but only after step 7.
 */
public final class StateStores {
  private static final Logger LOG = LoggerFactory.getLogger(StateStores.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String QUERY = "sql.streaming.queryId";
  private static final String BATCH = "streaming.sql.batchId";

  private StateStores() {}

  /**
   * Called on the engine's own thread: an array with one object per stateful operator, `[]` where there is none or where it
   * cannot be determined. Never throws: what is only shown must not fail a checkpoint.
   */
  public static String describe() {
    ArrayNode operators = JSON.createArrayNode();
    try {
      writers().forEach(writer -> describe(writer, operators.addObject()));
    } catch (Exception | LinkageError e) {
      LOG.warn("The state stores of this batch cannot be described", e);
      operators.removeAll();
    }
    return operators.toString();
  }

  /**
   * Called on the engine's own thread: the stateful operators of the batch's plan, which is known before its tasks start.
   * Empty where there is none or where it cannot be determined. Never throws.
   */
  public static List<Long> operators() {
    try {
      return writers().stream().map(writer -> writer.getStateInfo().operatorId()).sorted().toList();
    } catch (Exception | LinkageError e) {
      LOG.warn("The stateful operators of this batch cannot be determined", e);
      return List.of();
    }
  }

  private static List<StateStoreWriter> writers() {
    IncrementalExecution batch = running();
    return batch == null
        ? List.of()
        : CollectionConverters.asJava(
            StreamingQueryPlanTraverseHelper.collectFromUnfoldedPlan(batch.executedPlan(), new Writers()));
  }

  /** The batch that this thread is running, or null. */
  private static IncrementalExecution running() {
    SparkSession session = SparkSession.active();
    SparkContext context = session.sparkContext();
    String query = context.getLocalProperty(QUERY);
    String batch = context.getLocalProperty(BATCH);
    if (query == null || batch == null) {
      return null;
    }
    // The stream runs in a clone of its session, whose own list of queries is empty; this one is shared by all.
    StreamExecution stream = session.sharedState().activeStreamingQueries().get(UUID.fromString(query));
    IncrementalExecution last = stream == null ? null : stream.lastExecution();
    if (last == null || last.currentBatchId() != Long.parseLong(batch)) {
      LOG.warn("Query {} does not show the plan of its batch {}", query, batch);
      return null;
    }
    return last;
  }

  private static void describe(StateStoreWriter writer, ObjectNode json) {
    StateOperatorProgress progress = writer.getProgress();
    json.put("operator", writer.getStateInfo().operatorId());
    json.put("name", progress.operatorName());
    json.put("instances", progress.numStateStoreInstances());
    json.put("rows", progress.numRowsTotal());
    json.put("rows-updated", progress.numRowsUpdated());
    json.put("rows-removed", progress.numRowsRemoved());
    json.put("rows-dropped-by-watermark", progress.numRowsDroppedByWatermark());
    json.put("bytes", progress.memoryUsedBytes());
    json.put("commit-ms", progress.commitTimeMs());
    json.set("custom", JSON.valueToTree(new TreeMap<>(progress.customMetrics())));
  }

  /** The operators of a plan that write state. */
  private static final class Writers extends AbstractPartialFunction<SparkPlan, StateStoreWriter> {
    @Override
    public boolean isDefinedAt(SparkPlan node) {
      return node instanceof StateStoreWriter;
    }

    @Override
    public StateStoreWriter apply(SparkPlan node) {
      return (StateStoreWriter) node;
    }
  }
}
