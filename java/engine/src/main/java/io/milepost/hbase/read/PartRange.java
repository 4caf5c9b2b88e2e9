package io.milepost.hbase.read;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Encoded values of one row-key column, from `low` (inclusive) to `high` (exclusive, null where there is no end).
 *
 * <p>The bounds are such that the bytes of a value are either completely inside or completely outside, whatever
 * follows them in the key. `isPoint`: there is exactly one value inside, and its bytes are `low`.
 */
record PartRange(byte[] low, byte[] high, boolean isPoint) {
  private static final Comparator<PartRange> ORDER = Comparator.comparing(PartRange::low, Bytes.BYTES_COMPARATOR);

  static List<PartRange> intersect(List<PartRange> some, List<PartRange> others) {
    List<PartRange> both = new ArrayList<>();
    for (PartRange one : some) {
      for (PartRange other : others) {
        PartRange range = one.intersect(other);
        if (range != null) {
          both.add(range);
        }
      }
    }
    return both;
  }

  /** The union, sorted and without overlaps. */
  static List<PartRange> union(List<PartRange> some, List<PartRange> others) {
    List<PartRange> all = new ArrayList<>(some);
    all.addAll(others);
    all.sort(ORDER);
    List<PartRange> merged = new ArrayList<>();
    for (PartRange next : all) {
      PartRange last = merged.isEmpty() ? null : merged.get(merged.size() - 1);
      if (last == null || !last.reaches(next.low)) {
        merged.add(next);
      } else {
        merged.set(merged.size() - 1, last.extended(next));
      }
    }
    return merged;
  }

  private PartRange intersect(PartRange other) {
    if (isPoint || other.isPoint) {
      PartRange point = isPoint ? this : other;
      return (isPoint ? other : this).contains(point.low) ? point : null;
    }
    byte[] from = Bytes.compareTo(low, other.low) >= 0 ? low : other.low;
    byte[] to = high == null || other.high != null && Bytes.compareTo(other.high, high) < 0 ? other.high : high;
    return to == null || Bytes.compareTo(from, to) < 0 ? new PartRange(from, to, false) : null;
  }

  private PartRange extended(PartRange next) {
    if (high == null || next.high != null && Bytes.compareTo(next.high, high) <= 0) {
      return this;
    }
    return new PartRange(low, next.high, false);
  }

  private boolean contains(byte[] bytes) {
    return Bytes.compareTo(low, bytes) <= 0 && reaches(bytes);
  }

  private boolean reaches(byte[] bytes) {
    return high == null || Bytes.compareTo(bytes, high) < 0;
  }
}
