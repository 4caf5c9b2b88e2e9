package io.milepost.hbase.read;

import java.io.IOException;
import org.apache.hadoop.hbase.client.Result;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;

/** Reads the rows of one region as typed rows. */
final class HBasePartitionReader implements PartitionReader<InternalRow> {
  private final RegionScanner scanner;
  private final RowDecoder decoder;
  private Result current;

  HBasePartitionReader(RegionScanner scanner, RowDecoder decoder) {
    this.scanner = scanner;
    this.decoder = decoder;
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
  }
}
