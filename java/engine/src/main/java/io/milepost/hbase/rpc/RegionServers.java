package io.milepost.hbase.rpc;

import java.io.IOException;
import org.apache.hadoop.hbase.CellScanner;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiRequest;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiResponse;

/** The region servers of one table, as one connection sees them. */
public interface RegionServers {
  /** The region of a row; from the connection's cache, which may be behind the truth. */
  HRegionLocation locate(byte[] row) throws IOException;

  /** One call, not repeated; the cells are those that the request's mutations count. */
  MultiResponse multi(ServerName server, MultiRequest request, CellScanner cells) throws IOException;
}
