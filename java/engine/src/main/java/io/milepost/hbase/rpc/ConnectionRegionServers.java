package io.milepost.hbase.rpc;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.CellScanner;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.RegionLocations;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ClusterConnection;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.codec.KeyValueCodec;
import org.apache.hadoop.hbase.ipc.HBaseRpcController;
import org.apache.hadoop.hbase.ipc.RpcClient;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiRequest;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiResponse;
import org.apache.hbase.thirdparty.com.google.protobuf.ServiceException;

/**
 * Calls region servers through the stubs of a connection, which use its sockets, its SASL or TLS, and its call
 * timeout.
 */
public final class ConnectionRegionServers implements RegionServers {
  private final ClusterConnection connection;
  private final TableName table;
  private final int callTimeoutMillis;

  private ConnectionRegionServers(ClusterConnection connection, TableName table) {
    this.connection = connection;
    this.table = table;
    this.callTimeoutMillis = connection.getConfiguration().getInt(
        HConstants.HBASE_RPC_WRITE_TIMEOUT_KEY,
        connection.getConfiguration().getInt(HConstants.HBASE_RPC_TIMEOUT_KEY, HConstants.DEFAULT_HBASE_RPC_TIMEOUT));
  }

  /** Null where the connection is configured in a way that only the client's own calls support. */
  public static RegionServers of(Connection connection, TableName table) {
    boolean plain = connection instanceof ClusterConnection cluster && cluster.hasCellBlockSupport()
        && cluster.getStatisticsTracker() == null && usesKeyValueCodec(cluster.getConfiguration());
    return plain ? new ConnectionRegionServers((ClusterConnection) connection, table) : null;
  }

  /** {@link CellBlock} supports no other codec. */
  private static boolean usesKeyValueCodec(Configuration configuration) {
    String usual = KeyValueCodec.class.getCanonicalName();
    return usual.equals(configuration.get(HConstants.RPC_CODEC_CONF_KEY,
        configuration.get(RpcClient.DEFAULT_CODEC_CLASS, usual)));
  }

  @Override
  public HRegionLocation locate(byte[] row) throws IOException {
    RegionLocations locations = connection.locateRegion(table, row, true, true);
    return locations == null ? null : locations.getDefaultRegionLocation();
  }

  @Override
  public MultiResponse multi(ServerName server, MultiRequest request, CellScanner cells) throws IOException {
    HBaseRpcController controller = connection.getRpcControllerFactory().newController(cells);
    controller.setCallTimeout(callTimeoutMillis);
    controller.setPriority(table);
    try {
      return connection.getClient(server).multi(controller, request);
    } catch (ServiceException e) {
      throw e.getCause() instanceof IOException io ? io : new IOException(e);
    }
  }
}
