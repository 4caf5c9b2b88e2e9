package io.milepost.watermark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.jdk.javaapi.CollectionConverters;

/** Inspects the watermarks of a query's plan before it starts. */
public final class WatermarkPlan {
  private WatermarkPlan() {}

  /** Returns whether a watermark is defined above another, which Spark refuses only once the lower one has moved. */
  public static boolean isDefinedTwice(Dataset<Row> rows) {
    return isDefinedTwice(rows.queryExecution().analyzed(), false);
  }

  private static boolean isDefinedTwice(LogicalPlan plan, boolean isBelowOne) {
    boolean isOne = plan instanceof EventTimeWatermark;
    return isOne && isBelowOne || CollectionConverters.asJava(plan.children()).stream()
        .anyMatch(child -> isDefinedTwice(child, isOne || isBelowOne));
  }
}
