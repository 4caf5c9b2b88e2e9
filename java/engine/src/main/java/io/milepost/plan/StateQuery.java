package io.milepost.plan;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ScriptTransformation;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.Iterable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A SELECT from an untrusted author, which must reach nothing but the temporary views of its session.
 *
 * <p>Spark's query grammar has neither DDL nor DML. A query can still reach further: through a path in place of a
 * table, a script, a Java method by name, and functions that read files. These are rejected before Spark analyzes
 * anything, since the analysis alone opens files.
 */
public final class StateQuery {
  private static final Set<String> ROWS = Set.of("range", "explode", "explode_outer", "posexplode",
      "posexplode_outer", "inline", "inline_outer", "json_tuple", "stack");
  private static final Set<String> REACHING_OUT = Set.of("reflect", "java_method", "try_reflect", "from_avro",
      "to_avro", "schema_of_avro", "from_protobuf", "to_protobuf");

  private StateQuery() {}

  /**
   * Returns the rows of the query; nothing runs yet. Throws IllegalArgumentException for a query that reaches
   * further.
   */
  public static Dataset<Row> of(SparkSession session, String query) throws ParseException {
    LogicalPlan plan = session.sessionState().sqlParser().parseQuery(query);
    requireOnlyViews(plan);
    return org.apache.spark.sql.classic.Dataset.ofRows(session, plan);
  }

  private static void requireOnlyViews(LogicalPlan plan) {
    if (plan instanceof UnresolvedRelation relation) {
      requireView(list(relation.multipartIdentifier()));
    } else if (plan instanceof UnresolvedTableValuedFunction function) {
      requireAmong(ROWS, last(list(function.name())));
    } else if (plan instanceof ScriptTransformation) {
      throw new IllegalArgumentException("TRANSFORM … USING would start a program");
    }
    requireKnownName(plan.getClass());
    list(plan.children()).forEach(StateQuery::requireOnlyViews);
    for (Object inner : list(plan.innerChildren())) {
      if (inner instanceof LogicalPlan named) {
        requireOnlyViews(named);
      }
    }
    list(plan.expressions()).forEach(StateQuery::requireHarmless);
  }

  private static void requireHarmless(Expression expression) {
    if (expression instanceof UnresolvedFunction function
        && REACHING_OUT.contains(last(list(function.nameParts())))) {
      throw new IllegalArgumentException(last(list(function.nameParts())) + " reaches beyond the state");
    }
    if (expression instanceof PlanExpression<?> subquery && subquery.plan() instanceof LogicalPlan plan) {
      requireOnlyViews(plan);
    }
    requireKnownName(expression.getClass());
    list(expression.children()).forEach(StateQuery::requireHarmless);
  }

  /** IDENTIFIER(…) turns a text into a name that is not known before the analysis. */
  private static void requireKnownName(Class<?> node) {
    if (node.getSimpleName().endsWith("WithUnresolvedIdentifier")) {
      throw new IllegalArgumentException("IDENTIFIER(…) names something that cannot be known before it is read");
    }
  }

  private static void requireView(List<String> name) {
    if (name.size() != 1) {
      throw new IllegalArgumentException(String.join(".", name) + " is not a view of the state");
    }
  }

  private static void requireAmong(Set<String> allowed, String function) {
    if (!allowed.contains(function)) {
      throw new IllegalArgumentException(function + "(…) in the place of a view reaches beyond the state");
    }
  }

  private static String last(List<String> parts) {
    return parts.get(parts.size() - 1).toLowerCase(Locale.ROOT);
  }

  private static <T> List<T> list(Iterable<T> elements) {
    return List.copyOf(CollectionConverters.asJavaCollection(elements));
  }
}
