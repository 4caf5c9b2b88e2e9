package io.milepost.hbase;

import io.milepost.hbase.mutation.RowChange;
import java.util.Arrays;
import java.util.Comparator;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparator;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.util.Bytes;

/** Changes of rows and their cells as texts, for the tests of HFiles. */
public final class Changes {
  private Changes() {}

  /** Columns are `family:qualifier`. */
  public static RowChange put(String row, long version, String... columnsAndValues) {
    KeyValue[] puts = new KeyValue[columnsAndValues.length / 2];
    for (int i = 0; i < puts.length; i++) {
      String[] column = columnsAndValues[2 * i].split(":");
      puts[i] = new KeyValue(Bytes.toBytes(row), Bytes.toBytes(column[0]), Bytes.toBytes(column[1]), version,
          KeyValue.Type.Put, Bytes.toBytes(columnsAndValues[2 * i + 1]));
    }
    Arrays.sort(puts, inOrder());
    return new RowChange(Bytes.toBytes(row), puts, RowChange.NONE);
  }

  public static RowChange delete(String row, long version, String... families) {
    KeyValue[] markers = Arrays.stream(families)
        .map(family -> new KeyValue(Bytes.toBytes(row), Bytes.toBytes(family), null, version, KeyValue.Type.DeleteFamily))
        .toArray(KeyValue[]::new);
    return new RowChange(Bytes.toBytes(row), RowChange.NONE, markers);
  }

  /** `row/family:qualifier@version=value`, and `!` in place of the value of a marker. */
  public static String text(Cell cell) {
    String column = Bytes.toString(cell.getFamilyArray(), cell.getFamilyOffset(), cell.getFamilyLength()) + ":"
        + Bytes.toString(cell.getQualifierArray(), cell.getQualifierOffset(), cell.getQualifierLength());
    String value = cell.getType() == Cell.Type.Put
        ? "=" + Bytes.toString(cell.getValueArray(), cell.getValueOffset(), cell.getValueLength()) : "!";
    return Bytes.toString(cell.getRowArray(), cell.getRowOffset(), cell.getRowLength()) + "/" + column + "@"
        + cell.getTimestamp() + value;
  }

  private static Comparator<KeyValue> inOrder() {
    return CellComparator.getInstance()::compare;
  }
}
