package io.milepost.plan;

import io.milepost.watermark.LateRecordFunction;
import io.milepost.watermark.LateRecords;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.optimizer.InlineCTE;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.DeduplicateWithinWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInPandasWithState;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsWithState;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithStateInPySpark;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.GroupStateTimeout;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Counts the records that the operators of a query drop because they are late.
 *
 * <p>Spark counts the rows that an operator drops. Before an aggregation these are partial sums: 500 late readings of
 * one window are one row. So every row passes a function before it enters such an operator, with the event time that
 * the operator compares with the watermark, and with the record that the row comes from.
 */
public final class LateRecordPlan {
  private static final int WINDOW_END = 1;

  private final SparkSession session;
  private final LateRecords late;
  private int operators;

  private LateRecordPlan(SparkSession session, LateRecords late) {
    this.session = session;
    this.late = late;
  }

  /** Returns the same rows; while they are computed, `late` counts. */
  public static Dataset<Row> count(Dataset<Row> rows, LateRecords late) {
    LogicalPlan analyzed = rows.queryExecution().analyzed();
    // A WITH clause is a node of its own with references to it; written out in place it is a plan like any other.
    LogicalPlan plan = new InlineCTE(true, false).apply(analyzed);
    LateRecordPlan counting = new LateRecordPlan(rows.sparkSession(), late);
    LogicalPlan counted = counting.visit(plan);
    if (counting.operators == 0) {
      return rows;
    }
    Dataset<Row> result = Dataset.ofRows(rows.sparkSession(), counted);
    // The offset log of an earlier run has the sources in their order: that must stay.
    return SourceOrder.of(result).equals(SourceOrder.of(rows)) ? result : rows;
  }

  private LogicalPlan visit(LogicalPlan plan) {
    List<LogicalPlan> children = new ArrayList<>();
    boolean isChanged = false;
    for (LogicalPlan child : CollectionConverters.asJava(plan.children())) {
      LogicalPlan visited = visit(child);
      LogicalPlan input = eventTime(plan, child).map(time -> counted(visited, time)).orElse(visited);
      isChanged |= input != child;
      children.add(input);
    }
    return isChanged ? plan.withNewChildren(CollectionConverters.asScala(children).toIndexedSeq()) : plan;
  }

  /** The column by which an operator drops late rows of an input; nothing where it drops none. */
  private static Optional<Attribute> eventTime(LogicalPlan plan, LogicalPlan input) {
    if (!input.isStreaming()) {
      return Optional.empty();
    }
    if (plan instanceof Aggregate aggregate) {
      List<Expression> keys = CollectionConverters.asJava(aggregate.groupingExpressions());
      return eventTimes(input).stream().filter(time -> keys.stream().anyMatch(key -> isSame(key, time))).findFirst();
    }
    return dropsLateRows(plan) ? eventTimes(input).stream().findFirst() : Optional.empty();
  }

  private static boolean dropsLateRows(LogicalPlan plan) {
    return plan instanceof Deduplicate || plan instanceof DeduplicateWithinWatermark || plan instanceof Distinct
        || plan instanceof Join join && join.left().isStreaming() && join.right().isStreaming()
        || plan instanceof TransformWithState state && state.timeMode().equals(TimeMode.EventTime())
        || plan instanceof TransformWithStateInPySpark python && python.timeMode().equals(TimeMode.EventTime())
        || plan instanceof FlatMapGroupsWithState groups && groups.timeout().equals(GroupStateTimeout.EventTimeTimeout())
        || plan instanceof FlatMapGroupsInPandasWithState pandas
            && pandas.timeout().equals(GroupStateTimeout.EventTimeTimeout());
  }

  private static List<Attribute> eventTimes(LogicalPlan plan) {
    return CollectionConverters.asJava(plan.output()).stream()
        .filter(column -> column.metadata().contains(EventTimeWatermark.delayKey())).toList();
  }

  private static boolean isSame(Expression key, Attribute column) {
    return key instanceof NamedExpression named && named.exprId().equals(column.exprId());
  }

  /** Rows that come from no single record, such as those of an aggregation below, are not counted. */
  private LogicalPlan counted(LogicalPlan input, Attribute eventTime) {
    LogicalPlan carried = OriginColumn.carry(input);
    Optional<Attribute> origin = OriginColumn.find(carried);
    if (origin.isEmpty()) {
      return input;
    }
    Expression time = eventTime.dataType() instanceof StructType
        ? new GetStructField(eventTime, WINDOW_END, Option.empty()) : eventTime;
    Expression micros = new PreciseTimestampConversion(time, time.dataType(), DataTypes.LongType);
    // Not deterministic: Spark must neither drop nor move it.
    Column passes = functions.udf(new LateRecordFunction(late, operators++), DataTypes.BooleanType).asNondeterministic()
        .apply(part(origin.get(), 0), part(origin.get(), 1), part(origin.get(), 2), ExpressionUtils.column(micros));
    LogicalPlan filtered = Dataset.ofRows(session, carried).filter(passes).queryExecution().analyzed();
    List<NamedExpression> columns = new ArrayList<>(CollectionConverters.asJava(input.output()));
    return new Project(CollectionConverters.asScala(columns).toList(), filtered);
  }

  private static Column part(Attribute origin, int ordinal) {
    return ExpressionUtils.column(new GetStructField(origin, ordinal, Option.empty()));
  }
}
