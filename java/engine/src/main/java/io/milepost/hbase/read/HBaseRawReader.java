package io.milepost.hbase.read;

import io.milepost.hbase.client.HBaseOptions;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.client.Result;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads every cell of one region: all stored versions, and the delete markers. */
public final class HBaseRawReader implements PartitionReader<InternalRow> {
  public static final StructType SCHEMA = new StructType()
      .add("row", DataTypes.BinaryType, false)
      .add("family", DataTypes.StringType, false)
      .add("qualifier", DataTypes.BinaryType, false)
      .add("version", DataTypes.LongType, false)
      .add("type", DataTypes.StringType, false)
      .add("value", DataTypes.BinaryType, false);
  private static final int VALUE = SCHEMA.fieldIndex("value");

  private final RegionScanner scanner;
  private final int[] fields;
  private Cell[] cells = new Cell[0];
  private int at;

  private HBaseRawReader(RegionScanner scanner, int[] fields) {
    this.scanner = scanner;
    this.fields = fields;
  }

  /** `required` has the columns that the query needs. */
  static HBaseRawReader open(HBaseOptions options, StructType required, HBaseInputPartition region, ScanPlan plan)
      throws IOException {
    List<byte[]> families = !options.hasColumns() ? List.of() : options.columns().stream()
        .map(target -> target.family().getBytes(StandardCharsets.UTF_8)).toList();
    int[] fields = Arrays.stream(required.fieldNames()).mapToInt(SCHEMA::fieldIndex).toArray();
    boolean withValues = Arrays.stream(fields).anyMatch(field -> field == VALUE);
    int versions = options.versions();
    return new HBaseRawReader(
        new RegionScanner(options, region, range -> plan.rawScan(range, families, versions, withValues)), fields);
  }

  @Override
  public boolean next() throws IOException {
    at++;
    while (at >= cells.length) {
      Result result = scanner.next();
      if (result == null) {
        return false;
      }
      cells = result.rawCells();
      at = 0;
    }
    return true;
  }

  @Override
  public InternalRow get() {
    Cell cell = cells[at];
    Object[] row = new Object[fields.length];
    for (int i = 0; i < fields.length; i++) {
      row[i] = field(cell, fields[i]);
    }
    return new GenericInternalRow(row);
  }

  private static Object field(Cell cell, int field) {
    return switch (field) {
      case 0 -> CellUtil.cloneRow(cell);
      case 1 -> UTF8String.fromBytes(CellUtil.cloneFamily(cell));
      case 2 -> CellUtil.cloneQualifier(cell);
      case 3 -> cell.getTimestamp();
      case 4 -> UTF8String.fromString(cell.getType().name());
      default -> CellUtil.cloneValue(cell);
    };
  }

  @Override
  public void close() throws IOException {
    scanner.close();
  }
}
