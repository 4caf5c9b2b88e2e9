package io.milepost.hbase.read;

import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import java.io.Closeable;
import java.io.IOException;
import java.util.Iterator;
import java.util.function.Function;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;

/** Reads the ranges of one partition, one scanner after the other. */
final class RegionScanner implements Closeable {
  private final Table table;
  private final Iterator<KeyRange> ranges;
  private final Function<KeyRange, Scan> scan;
  private ResultScanner scanner;

  RegionScanner(HBaseOptions options, HBaseInputPartition partition, Function<KeyRange, Scan> scan) throws IOException {
    this.table = HBaseConnections.shared(options).getTable(options.table());
    this.ranges = partition.ranges().iterator();
    this.scan = scan;
  }

  /** Null at the end. */
  Result next() throws IOException {
    while (scanner != null || ranges.hasNext()) {
      if (scanner == null) {
        scanner = table.getScanner(scan.apply(ranges.next()));
      }
      Result result = scanner.next();
      if (result != null) {
        return result;
      }
      scanner.close();
      scanner = null;
    }
    return null;
  }

  @Override
  public void close() throws IOException {
    if (scanner != null) {
      scanner.close();
    }
    table.close();
  }
}
