package io.milepost.hbase;

import java.io.IOException;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Table;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;

/** Reads the rows of one region, typed. */
final class HBasePartitionReader implements PartitionReader<InternalRow> {
  private final Table table;
  private final ResultScanner scanner;
  private final RowDecoder decoder;
  private Result current;

  HBasePartitionReader(HBaseOptions options, StructType schema, HBaseInputPartition region) throws IOException {
    decoder = new RowDecoder(options, schema);
    table = HBaseConnections.shared(options).getTable(options.table());
    scanner = table.getScanner(decoder.narrow(region.scan()));
  }

  @Override
  public boolean next() throws IOException {
    current = scanner.next();
    return current != null;
  }

  @Override
  public InternalRow get() {
    return decoder.decode(current);
  }

  @Override
  public void close() throws IOException {
    scanner.close();
    table.close();
  }
}
