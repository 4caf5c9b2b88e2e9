package io.milepost.hbase.mutation;

import java.util.Arrays;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparator;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.KeyValue;

/**
 * Folds two changes of the same row into one.
 *
 * <p>Per column the later version wins, and of equal versions the later arrival. A delete removes what its marker
 * would hide, and its marker stays. A put after a delete stays beside it, even at the delete's own version, where
 * HBase hides it.
 */
public final class RowFold {
  private static final CellComparator ORDER = CellComparator.getInstance();

  private RowFold() {}

  public static RowChange fold(RowChange earlier, RowChange later) {
    KeyValue[] left = visible(earlier.puts(), later.markers());
    return new RowChange(earlier.row(), merged(left, later.puts()), merged(earlier.markers(), later.markers()));
  }

  /** The cells that no marker hides; the given array itself where that is all of them. */
  static KeyValue[] visible(KeyValue[] puts, KeyValue[] markers) {
    KeyValue[] visible = new KeyValue[puts.length];
    int count = 0;
    for (KeyValue put : puts) {
      if (!isHidden(put, markers)) {
        visible[count++] = put;
      }
    }
    return count == puts.length ? puts : Arrays.copyOf(visible, count);
  }

  private static boolean isHidden(KeyValue put, KeyValue[] markers) {
    for (KeyValue marker : markers) {
      if (marker.getTimestamp() >= put.getTimestamp() && CellUtil.matchingFamily(marker, put)
          && (isOfFamily(marker) || CellUtil.matchingQualifier(marker, put))) {
        return true;
      }
    }
    return false;
  }

  /** Both are sorted by column, so one pass finds the columns they share. */
  private static KeyValue[] merged(KeyValue[] earlier, KeyValue[] later) {
    if (earlier.length == 0 || later.length == 0) {
      return earlier.length == 0 ? later : earlier;
    }
    KeyValue[] merged = new KeyValue[earlier.length + later.length];
    int count = 0;
    int i = 0;
    int j = 0;
    while (i < earlier.length || j < later.length) {
      int order = i == earlier.length ? 1 : j == later.length ? -1 : compare(earlier[i], later[j]);
      if (order < 0) {
        merged[count++] = earlier[i++];
      } else if (order > 0) {
        merged[count++] = later[j++];
      } else {
        KeyValue old = earlier[i++];
        KeyValue fresh = later[j++];
        merged[count++] = fresh.getTimestamp() >= old.getTimestamp() ? fresh : old;
      }
    }
    return count == merged.length ? merged : Arrays.copyOf(merged, count);
  }

  /** A family marker comes before every column marker; a marker and a put are never compared. */
  private static int compare(KeyValue a, KeyValue b) {
    int byFamily = ORDER.compareFamilies(a, b);
    if (byFamily != 0) {
      return byFamily;
    }
    int byKind = Boolean.compare(!isOfFamily(a), !isOfFamily(b));
    return byKind != 0 ? byKind : ORDER.compareQualifiers(a, b);
  }

  private static boolean isOfFamily(KeyValue cell) {
    return cell.getTypeByte() == Cell.Type.DeleteFamily.getCode();
  }
}
