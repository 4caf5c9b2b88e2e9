package io.milepost.hbase.rpc;

import java.io.IOException;
import org.apache.hadoop.hbase.CellScanner;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiRequest;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiResponse;

/** The region servers of one table, as seen by one connection. */
public interface RegionServers {
  /** The region of a row, from the connection's cache, which may be out of date. */
  HRegionLocation locate(byte[] row) throws IOException;

  /** Makes one call, without retries; `cells` are those that the mutations of the request count. */
  MultiResponse multi(ServerName server, MultiRequest request, CellScanner cells) throws IOException;
}
