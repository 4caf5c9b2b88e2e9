package io.milepost.hbase.read;

import java.util.ArrayList;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * The part of a scan that lies in one region, and the host that serves it. Defined by keys, so that a region that
 * splits in the meantime loses nothing.
 */
record HBaseInputPartition(ArrayList<KeyRange> ranges, String host) implements InputPartition {
  static HBaseInputPartition of(HRegionLocation location, ScanPlan plan) {
    KeyRange region = new KeyRange(location.getRegion().getStartKey(), location.getRegion().getEndKey());
    return new HBaseInputPartition(new ArrayList<>(plan.within(region)), location.getHostname());
  }

  @Override
  public String[] preferredLocations() {
    return host == null ? new String[0] : new String[] {host};
  }
}
