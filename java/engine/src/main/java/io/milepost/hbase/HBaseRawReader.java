package io.milepost.hbase;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads every cell of one region: all versions that are stored, and the delete markers. */
final class HBaseRawReader implements PartitionReader<InternalRow> {
  static final StructType SCHEMA = new StructType()
      .add("row", DataTypes.BinaryType, false)
      .add("family", DataTypes.StringType, false)
      .add("qualifier", DataTypes.BinaryType, false)
      .add("version", DataTypes.LongType, false)
      .add("type", DataTypes.StringType, false)
      .add("value", DataTypes.BinaryType, false);

  private final Table table;
  private final ResultScanner scanner;
  private Cell[] cells = new Cell[0];
  private int at;

  HBaseRawReader(HBaseOptions options, HBaseInputPartition region) throws IOException {
    // A row with a long history may not fit into one answer; cells need not come by the row.
    Scan scan = region.scan().setRaw(true).readAllVersions().setAllowPartialResults(true);
    if (options.hasColumns()) {
      for (ColumnsText.Target target : options.columns()) {
        scan.addFamily(target.family().getBytes(StandardCharsets.UTF_8));
      }
    }
    table = HBaseConnections.shared(options).getTable(options.table());
    scanner = table.getScanner(scan);
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
    return new GenericInternalRow(new Object[] {
        CellUtil.cloneRow(cell),
        UTF8String.fromBytes(CellUtil.cloneFamily(cell)),
        CellUtil.cloneQualifier(cell),
        cell.getTimestamp(),
        UTF8String.fromString(cell.getType().name()),
        CellUtil.cloneValue(cell)});
  }

  @Override
  public void close() throws IOException {
    scanner.close();
    table.close();
  }
}
