package io.milepost.hbase;

import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.spark.sql.connector.read.InputPartition;

/** The rows of one region, and the host that serves them. By keys, so that a region that splits meanwhile loses nothing. */
record HBaseInputPartition(byte[] start, byte[] stop, String host) implements InputPartition {
  private static final int ROWS_PER_REQUEST = 1000;

  static HBaseInputPartition of(HRegionLocation location) {
    return new HBaseInputPartition(
        location.getRegion().getStartKey(), location.getRegion().getEndKey(), location.getHostname());
  }

  @Override
  public String[] preferredLocations() {
    return host == null ? new String[0] : new String[] {host};
  }

  Scan scan() {
    // A whole table read once would push everything else out of the region servers' cache.
    return new Scan().withStartRow(start).withStopRow(stop).setCaching(ROWS_PER_REQUEST).setCacheBlocks(false);
  }
}
