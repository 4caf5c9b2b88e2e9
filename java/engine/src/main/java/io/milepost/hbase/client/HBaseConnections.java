package io.milepost.hbase.client;

import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One connection per HBase cluster and JVM, shared by all tasks and closed when the JVM ends. */
public final class HBaseConnections {
  private static final Logger LOG = LoggerFactory.getLogger(HBaseConnections.class);
  private static final int DEFAULT_RPC_TIMEOUT_MILLIS = 60_000;
  private static final Map<Map<String, String>, Connection> OPEN = new HashMap<>();

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(HBaseConnections::closeAll, "milepost-hbase-connections"));
  }

  private HBaseConnections() {}

  public static Connection shared(HBaseOptions options) throws IOException {
    Map<String, String> key = identity(options);
    synchronized (OPEN) {
      Connection connection = OPEN.get(key);
      if (connection == null || connection.isClosed()) {
        connection = ConnectionFactory.createConnection(configuration(options));
        OPEN.put(key, connection);
      }
      return connection;
    }
  }

  /** The configuration of the HBase client: the site file, then the quorum, then every `hbase.` option. */
  public static Configuration configuration(HBaseOptions options) {
    Configuration configuration = HBaseConfiguration.create();
    if (options.site() != null) {
      Path site = new Path(options.site());
      if (site.toUri().getScheme() == null && !new File(options.site()).canRead()) {
        throw HBaseOptions.invalid(HBaseOptions.SITE, options.site(), "there is no such file, or it cannot be read",
            "name the hbase-site.xml of your cluster; it must be readable on every executor too");
      }
      configuration.addResource(site.toUri().getScheme() == null ? new Path("file:" + options.site()) : site);
    }
    if (options.quorum() != null) {
      setQuorum(configuration, options.quorum());
    } else if (options.site() == null) {
      throw new IllegalArgumentException("Neither option 'quorum' nor 'site' is set, so there is no HBase to connect to."
          + " Set quorum to host:port of its ZooKeeper, or site to the path of its hbase-site.xml.");
    }
    // HBase's own default is 20 minutes, longer than any sane checkpoint timeout.
    int timeout = options.operationTimeoutMillis();
    configuration.setInt(HConstants.HBASE_CLIENT_OPERATION_TIMEOUT, timeout);
    configuration.setInt(HConstants.HBASE_CLIENT_META_OPERATION_TIMEOUT, timeout);
    configuration.setInt(HConstants.HBASE_RPC_TIMEOUT_KEY, Math.min(DEFAULT_RPC_TIMEOUT_MILLIS, timeout));
    int session = configuration.getInt(HConstants.ZK_SESSION_TIMEOUT, HConstants.DEFAULT_ZK_SESSION_TIMEOUT);
    configuration.setInt(HConstants.ZK_SESSION_TIMEOUT, Math.min(session, timeout));
    options.asMap().forEach((key, value) -> {
      if (key.startsWith(HBaseOptions.HBASE_PREFIX)) {
        configuration.set(key, value);
      }
    });
    return configuration;
  }

  private static void setQuorum(Configuration configuration, String quorum) {
    String port = null;
    for (String server : quorum.split(",", -1)) {
      int colon = server.trim().lastIndexOf(':');
      String host = colon < 0 ? server.trim() : server.trim().substring(0, colon);
      if (host.isEmpty() || colon >= 0 && !server.trim().substring(colon + 1).matches("[0-9]{1,5}")) {
        throw HBaseOptions.invalid(HBaseOptions.QUORUM, quorum, "it is not a list of host:port",
            "write host:port, or host:port,host:port,host:port");
      }
      port = colon < 0 || port != null ? port : server.trim().substring(colon + 1);
    }
    configuration.set(HConstants.ZOOKEEPER_QUORUM, quorum.replace(" ", ""));
    if (port != null) {
      configuration.set(HConstants.ZOOKEEPER_CLIENT_PORT, port);
    }
  }

  /** The options that distinguish one connection from another. */
  private static Map<String, String> identity(HBaseOptions options) {
    Map<String, String> identity = new TreeMap<>();
    options.asMap().forEach((key, value) -> {
      if (key.startsWith(HBaseOptions.HBASE_PREFIX) || key.equals(HBaseOptions.QUORUM) || key.equals(HBaseOptions.SITE)
          || key.equals(HBaseOptions.OPERATION_TIMEOUT)) {
        identity.put(key, value);
      }
    });
    return identity;
  }

  private static void closeAll() {
    synchronized (OPEN) {
      for (Connection connection : OPEN.values()) {
        try {
          connection.close();
        } catch (IOException e) {
          LOG.debug("A connection to HBase did not close cleanly", e);
        }
      }
      OPEN.clear();
    }
  }
}
