package io.milepost.hbase.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import java.util.List;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class RowDecoderTest {
  private static final StructType SCHEMA = new StructType().add("v", DataTypes.LongType).add("id", DataTypes.StringType);

  private static Result result(String row, byte[] value) {
    Put put = new Put(Bytes.toBytes(row)).addColumn(Bytes.toBytes("d"), Bytes.toBytes("v"), 1, value);
    List<Cell> cells = put.getFamilyCellMap().firstEntry().getValue();
    return Result.create(cells);
  }

  @Test
  void keyAndCellsComeBackTypedAndInTheSchemasOrder() {
    InternalRow row = new RowDecoder(Rows.options(), SCHEMA, SCHEMA).decode(result("k", Bytes.toBytes(5L)));
    assertEquals(5L, row.getLong(0));
    assertEquals("k", row.getUTF8String(1).toString());
  }

  @Test
  void anEmptyCellIsNullWhereNullsAreWrittenEmpty() {
    assertTrue(new RowDecoder(Rows.options("nulls", "empty"), SCHEMA, SCHEMA).decode(result("k", new byte[0])).isNullAt(0));
  }

  @Test
  void aCellOfAnotherWidthNamesRowColumnAndType() {
    RowDecoder decoder = new RowDecoder(Rows.options(), SCHEMA, SCHEMA);
    Rows.assertRefused("Row 'k\\x00', column 'v' (d:v, read as BIGINT) cannot be read: BIGINT has 8 bytes and this has 3",
        () -> decoder.decode(result("k\0", new byte[3])));
  }

  @Test
  void aColumnThatTheTableHasNotIsNull() {
    HBaseOptions options = Rows.options("columns", "{\"d\":[\"v\",\"w\"]}");
    StructType wider = SCHEMA.add("w", DataTypes.LongType);
    assertTrue(new RowDecoder(options, wider, wider).decode(result("k", Bytes.toBytes(5L))).isNullAt(2));
  }
}
