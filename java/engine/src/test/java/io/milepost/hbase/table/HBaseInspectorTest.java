package io.milepost.hbase.table;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.milepost.hbase.Rows;
import java.util.List;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;

final class HBaseInspectorTest {
  @Test
  void aTableIsSplitByItsFirstByte() {
    assertEquals(0, HBaseInspector.splits(1, 0).length);
    assertEquals("40 80 c0", hex(HBaseInspector.splits(4, 0)));
    assertEquals("01 02", hex(HBaseInspector.splits(8, 3)));
    assertEquals("08", hex(HBaseInspector.splits(2, 16)));
    assertEquals(255, HBaseInspector.splits(256, 0).length);
    Rows.assertRefused("Use 1 to 256", () -> HBaseInspector.splits(0, 0));
  }

  private static String hex(byte[][] keys) {
    return String.join(" ", List.of(keys).stream().map(Bytes::toHex).toList());
  }
}
