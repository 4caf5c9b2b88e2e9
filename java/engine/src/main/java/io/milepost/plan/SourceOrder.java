package io.milepost.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The order in which Spark writes the sources of a query to its offset log.
 *
 * <p>It is the order of the streams in the analyzed plan, not that of any configuration, and a view that is used
 * twice may occur twice.
 */
public final class SourceOrder {
  /** The option of a source that says which view it is. */
  public static final String VIEW = "view";

  private SourceOrder() {}

  /** Returns the view of each source, as in the lines of Spark's offset log; other streams are empty text. */
  public static List<String> of(Dataset<Row> rows) {
    List<String> views = new ArrayList<>();
    for (LogicalPlan stream : streams(rows)) {
      views.add(stream instanceof StreamingRelationV2 ours ? ours.extraOptions().getOrDefault(VIEW, "") : "");
    }
    return views;
  }

  /** Returns how many streams Spark opens: it opens equal ones once. */
  public static int distinct(Dataset<Row> rows) {
    return Set.copyOf(streams(rows)).size();
  }

  private static List<LogicalPlan> streams(Dataset<Row> rows) {
    return CollectionConverters.asJava(rows.queryExecution().analyzed().collectLeaves()).stream()
        // A reference to a WITH clause reports that it streams, but is not a stream of its own.
        .filter(leaf -> leaf.isStreaming() && !(leaf instanceof CTERelationRef)).toList();
  }
}
