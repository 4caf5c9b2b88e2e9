package io.milepost.hbase.read;

import io.milepost.hbase.mapping.RowKeyEncoder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;

/**
 * The constraints of predicates on the columns of the row key, and the ranges of row keys that follow. The ranges may
 * be too wide, never too narrow, so Spark has to evaluate the predicates again.
 */
final class KeyConstraint {
  /** More ranges than this cost more than they save. */
  private static final int MAX_RANGES = 1000;
  private static final int NONE = -1;

  private final List<String> names;
  private final List<KeyPart> parts;
  private final int salt;
  private final Map<Integer, List<PartRange>> allowed;

  KeyConstraint(List<String> names, List<KeyPart> parts, int salt) {
    this(names, parts, salt, Map.of());
  }

  private KeyConstraint(List<String> names, List<KeyPart> parts, int salt, Map<Integer, List<PartRange>> allowed) {
    this.names = names;
    this.parts = parts;
    this.salt = salt;
    this.allowed = allowed;
  }

  /** The constraint of a predicate that does not concern the row key. */
  private KeyConstraint none() {
    return with(Map.of());
  }

  private KeyConstraint with(Map<Integer, List<PartRange>> others) {
    return new KeyConstraint(names, parts, salt, others);
  }

  boolean isNone() {
    return allowed.isEmpty();
  }

  /** The constraint of this predicate alone. */
  KeyConstraint of(Predicate predicate) {
    Expression[] children = predicate.children();
    return switch (predicate.name()) {
      case "AND" -> of((Predicate) children[0]).and(of((Predicate) children[1]));
      case "OR" -> of((Predicate) children[0]).or(of((Predicate) children[1]));
      case "IN" -> ofIn(children);
      default -> children.length == 2 ? ofComparison(predicate.name(), children[0], children[1]) : none();
    };
  }

  KeyConstraint and(KeyConstraint other) {
    Map<Integer, List<PartRange>> both = new HashMap<>(allowed);
    other.allowed.forEach((part, ranges) -> both.merge(part, ranges, PartRange::intersect));
    return with(both);
  }

  /** Only columns that both sides constrain are constrained. */
  private KeyConstraint or(KeyConstraint other) {
    Map<Integer, List<PartRange>> either = new HashMap<>();
    allowed.forEach((part, ranges) -> {
      if (other.allowed.containsKey(part)) {
        either.put(part, PartRange.union(ranges, other.allowed.get(part)));
      }
    });
    return with(either);
  }

  private KeyConstraint ofIn(Expression[] children) {
    KeyConstraint any = null;
    for (int i = 1; i < children.length; i++) {
      KeyConstraint one = ofComparison("=", children[0], children[i]);
      any = any == null ? one : any.or(one);
    }
    return any == null ? none() : any;
  }

  private KeyConstraint ofComparison(String operator, Expression left, Expression right) {
    int part = left instanceof NamedReference reference ? index(reference) : NONE;
    if (part == NONE || !(right instanceof Literal<?> literal) || literal.value() == null
        || !literal.dataType().equals(parts.get(part).type())) {
      return none();
    }
    List<PartRange> ranges = parts.get(part).compare(operator, literal.value());
    return ranges == null ? none() : with(Map.of(part, ranges));
  }

  private int index(NamedReference reference) {
    return reference.fieldNames().length == 1 ? names.indexOf(reference.fieldNames()[0]) : NONE;
  }

  /** Sorted and without overlaps; empty where no key can satisfy the predicates. */
  List<KeyRange> ranges() {
    if (isNone()) {
      return List.of(KeyRange.ALL);
    }
    List<byte[]> prefixes = List.of(new byte[0]);
    for (int i = 0; i < parts.size(); i++) {
      List<PartRange> next = allowed.get(i);
      if (next == null || (long) prefixes.size() * next.size() > MAX_RANGES) {
        return salted(prefixes.stream().map(KeyRange::ofPrefix).toList());
      }
      if (!next.stream().allMatch(PartRange::isPoint)) {
        return salted(within(prefixes, next));
      }
      List<byte[]> longer = new ArrayList<>();
      for (byte[] prefix : prefixes) {
        next.forEach(point -> longer.add(Bytes.add(prefix, point.low())));
      }
      prefixes = longer;
    }
    return prefixes.stream().map(this::saltedKey).sorted(Bytes.BYTES_COMPARATOR).map(KeyRange::ofKey).toList();
  }

  private static List<KeyRange> within(List<byte[]> prefixes, List<PartRange> next) {
    List<KeyRange> ranges = new ArrayList<>();
    for (byte[] prefix : prefixes) {
      for (PartRange range : next) {
        byte[] stop = range.high() == null ? KeyRange.afterPrefix(prefix) : Bytes.add(prefix, range.high());
        ranges.add(new KeyRange(Bytes.add(prefix, range.low()), stop));
      }
    }
    return ranges;
  }

  private byte[] saltedKey(byte[] key) {
    return salt == 0 ? key : Bytes.add(new byte[] {RowKeyEncoder.bucket(key, 0, key.length, salt)}, key);
  }

  /** The bucket depends on the whole key, so a partial key can be in any bucket. */
  private List<KeyRange> salted(List<KeyRange> ranges) {
    if (salt == 0) {
      return ranges;
    }
    if (ranges.size() * salt > MAX_RANGES) {
      return List.of(KeyRange.ALL);
    }
    List<KeyRange> all = new ArrayList<>();
    for (int bucket = 0; bucket < salt; bucket++) {
      byte[] first = {(byte) bucket};
      for (KeyRange range : ranges) {
        byte[] stop = range.stop().length == 0 ? KeyRange.afterPrefix(first) : Bytes.add(first, range.stop());
        all.add(new KeyRange(Bytes.add(first, range.start()), stop));
      }
    }
    return all;
  }
}
