package io.milepost.hbase.read;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataTypes;

/** The versions of the cells to read; both bounds are inclusive. */
record VersionRange(long least, long most) implements Serializable {
  static final VersionRange ALL = new VersionRange(0, Long.MAX_VALUE);

  boolean isAll() {
    return equals(ALL);
  }

  boolean isEmpty() {
    return least > most;
  }

  VersionRange intersect(VersionRange other) {
    return new VersionRange(Math.max(least, other.least), Math.min(most, other.most));
  }

  /** The constraint of a predicate on `column`; all versions where it has none. */
  static VersionRange of(Predicate predicate, String column) {
    if (predicate.name().equals("AND")) {
      return of((Predicate) predicate.children()[0], column).intersect(of((Predicate) predicate.children()[1], column));
    }
    if (predicate.children().length != 2 || !(predicate.children()[0] instanceof NamedReference reference)
        || !String.join(".", reference.fieldNames()).equals(column)
        || !(predicate.children()[1] instanceof Literal<?> literal) || literal.value() == null
        || !literal.dataType().equals(DataTypes.LongType)) {
      return ALL;
    }
    long value = (Long) literal.value();
    VersionRange nothing = new VersionRange(1, 0);
    return switch (predicate.name()) {
      case "=", "<=>" -> value < 0 ? nothing : new VersionRange(value, value);
      case ">=" -> new VersionRange(Math.max(value, 0), Long.MAX_VALUE);
      case ">" -> value == Long.MAX_VALUE ? nothing : new VersionRange(Math.max(value + 1, 0), Long.MAX_VALUE);
      case "<=" -> value < 0 ? nothing : new VersionRange(0, value);
      case "<" -> value <= 0 ? nothing : new VersionRange(0, value - 1);
      default -> ALL;
    };
  }

  Scan narrow(Scan scan) {
    if (isAll()) {
      return scan;
    }
    try {
      // HBase's own upper bound is exclusive, except for the largest version.
      return scan.setTimeRange(least, most == Long.MAX_VALUE ? most : most + 1);
    } catch (IOException e) {
      throw new UncheckedIOException("Versions " + least + " to " + most + " are not a range", e);
    }
  }
}
