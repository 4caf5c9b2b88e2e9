package io.milepost.plan;

import io.milepost.kafka.reader.RecordSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.optimizer.InlineCTE;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Carries `_kafka` through a user's transformation that does not name it.
 *
 * <p>A query such as `SELECT id, amount FROM source` asks for rows, not coordinates, but the sink needs the Kafka
 * record of each row as the version of its cells. In projections, filters and similar operators each row comes from
 * one record, so the column is added to them; likewise in a union whose every part has it. Where a row represents
 * many records (an aggregation, a join of streams), the column is not added, and must not be.
 */
public final class OriginColumn {
  private OriginColumn() {}

  /** Returns the same rows with `_kafka` as a further column where each row comes from one record; else the input. */
  public static Dataset<Row> carry(Dataset<Row> rows) {
    LogicalPlan analyzed = rows.queryExecution().analyzed();
    if (find(analyzed).isPresent()) {
      return rows;
    }
    // A WITH clause is a node of its own with references to it; written out in place it is a plan like any other.
    LogicalPlan carried = carry(new InlineCTE(true, false).apply(analyzed));
    return find(carried).isPresent()
        ? org.apache.spark.sql.classic.Dataset.ofRows((SparkSession) rows.sparkSession(), carried)
        : rows;
  }

  /** Returns the plan with `_kafka` in its output where each row comes from one record; else as it was. */
  static LogicalPlan carry(LogicalPlan plan) {
    if (plan instanceof Project project) {
      LogicalPlan child = carry(project.child());
      Optional<Attribute> origin = find(child);
      if (origin.isEmpty() || find(project).isPresent()) {
        return child == project.child() ? plan : new Project(project.projectList(), child);
      }
      List<NamedExpression> columns = new ArrayList<>(CollectionConverters.asJava(project.projectList()));
      columns.add(origin.get());
      return new Project(seq(columns), child);
    }
    if (plan instanceof Union union) {
      return carry(union);
    }
    if (plan instanceof Expand expand) {
      return carry(expand);
    }
    boolean rowsKeepTheirRecord = plan instanceof Filter || plan instanceof SubqueryAlias || plan instanceof View
        || plan instanceof Generate || plan instanceof EventTimeWatermark || plan instanceof Deduplicate
        || plan instanceof Join join && !(join.left().isStreaming() && join.right().isStreaming());
    return rowsKeepTheirRecord ? plan.mapChildren(new Carry()) : plan;
  }

  /** Every row of a union is a row of one of its inputs; columns are matched by place, so all of them must gain it. */
  private static LogicalPlan carry(Union union) {
    List<LogicalPlan> children = new ArrayList<>();
    for (LogicalPlan child : CollectionConverters.asJava(union.children())) {
      LogicalPlan carried = carry(child);
      if (carried.output().size() != child.output().size() + 1 || find(carried).isEmpty()) {
        return union;
      }
      children.add(carried);
    }
    return union.withNewChildren(CollectionConverters.asScala(children).toIndexedSeq());
  }

  /** Overlapping windows: one row per window, all of one record. */
  private static LogicalPlan carry(Expand expand) {
    LogicalPlan child = carry(expand.child());
    Optional<Attribute> origin = find(child);
    if (origin.isEmpty() || find(expand).isPresent()) {
      return child == expand.child() ? expand : new Expand(expand.projections(), expand.output(), child);
    }
    List<Seq<Expression>> projections = new ArrayList<>();
    for (Seq<Expression> projection : CollectionConverters.asJava(expand.projections())) {
      List<Expression> columns = new ArrayList<>(CollectionConverters.asJava(projection));
      columns.add(origin.get());
      projections.add(seq(columns));
    }
    List<Attribute> output = new ArrayList<>(CollectionConverters.asJava(expand.output()));
    output.add(origin.get());
    return new Expand(seq(projections), seq(output), child);
  }

  /** The column of the record that a row comes from. */
  static Optional<Attribute> find(LogicalPlan plan) {
    return CollectionConverters.asJava(plan.output()).stream()
        .filter(attribute -> attribute.name().equals(RecordSchema.KAFKA)
            && attribute.dataType().sameType(RecordSchema.ORIGIN))
        .findFirst();
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toList();
  }

  private static final class Carry extends AbstractFunction1<LogicalPlan, LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan child) {
      return carry(child);
    }
  }
}
