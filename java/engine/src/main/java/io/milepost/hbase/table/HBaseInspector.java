package io.milepost.hbase.table;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.client.RootCause;
import io.milepost.net.OpenPort;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableExistsException;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.security.AccessDeniedException;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Answers questions from Python about HBase before a job starts, as JSON and within `connect-timeout-ms`, even when
 * HBase is down.
 *
 * <p>A closed port, or an HBase that answers with an error, gets a few seconds: it may be about to start.
 */
public final class HBaseInspector {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long SETTLE_MILLIS = 8_000;
  private static final long PAUSE_MILLIS = 500;
  private static final long CREATE_DEADLINE_MILLIS = 60_000;
  private static final int FIRST_BYTES = 256;

  private HBaseInspector() {}

  /** Describes the table of the options, or reports why it cannot; throws only for invalid options. */
  public static String describe(Map<String, String> options) {
    HBaseOptions parsed = new HBaseOptions(options);
    return ask(parsed, parsed.connectTimeoutMillis(), admin -> TableDescription.of(admin, parsed.table())).toString();
  }

  /** Creates the table with its first regions and configures each family; an existing table is left unchanged. */
  public static String createTable(Map<String, String> options, List<String> families, Map<String, String> configuration,
      int regions) {
    HBaseOptions parsed = new HBaseOptions(options);
    byte[][] splits = splits(regions, parsed.salt());
    TableDescriptorBuilder table = TableDescriptorBuilder.newBuilder(parsed.table());
    for (String name : families) {
      ColumnFamilyDescriptorBuilder family = ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(name));
      configuration.forEach(family::setConfiguration);
      table.setColumnFamily(family.build());
    }
    return ask(parsed, Math.max(CREATE_DEADLINE_MILLIS, parsed.connectTimeoutMillis()), admin -> {
      ObjectNode answer = JSON.createObjectNode();
      answer.put("created", create(admin, table, splits));
      answer.put("regions", admin.getRegions(parsed.table()).size());
      return answer;
    }).toString();
  }

  /** Split keys that divide the first byte evenly; with salt, the salt buckets, since no other first byte occurs. */
  static byte[][] splits(int regions, int salt) {
    int firstBytes = salt == 0 ? FIRST_BYTES : salt;
    if (regions < 1 || regions > FIRST_BYTES) {
      throw new IllegalArgumentException("A table cannot be created with " + regions
          + " regions: the first byte of the row key splits it into at most " + FIRST_BYTES + ". Use 1 to 256.");
    }
    int parts = Math.min(regions, firstBytes);
    byte[][] splits = new byte[parts - 1][];
    for (int i = 1; i < parts; i++) {
      splits[i - 1] = new byte[] {(byte) (i * firstBytes / parts)};
    }
    return splits;
  }

  private static boolean create(Admin admin, TableDescriptorBuilder table, byte[][] splits) throws IOException {
    try {
      admin.createTable(table.build(), splits.length == 0 ? null : splits);
      return true;
    } catch (TableExistsException e) {
      return false;
    }
  }

  @FunctionalInterface
  interface Question {
    ObjectNode ask(Admin admin) throws IOException;
  }

  /** Runs the question on a thread that can be abandoned: the retries of the client can outlast any deadline. */
  static ObjectNode ask(HBaseOptions options, long deadlineMillis, Question question) {
    Configuration configuration = withDeadline(options, deadlineMillis);
    long settled = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Math.min(SETTLE_MILLIS, deadlineMillis));
    Callable<ObjectNode> call = () -> {
      requireOpenPort(configuration, settled);
      while (true) {
        try (Connection connection = ConnectionFactory.createConnection(configuration); Admin admin = connection.getAdmin()) {
          return question.ask(admin);
        } catch (IOException e) {
          if (e instanceof DoNotRetryIOException || isDenied(e) || System.nanoTime() > settled) {
            throw e;
          }
          Thread.sleep(PAUSE_MILLIS);
        }
      }
    };
    FutureTask<ObjectNode> task = new FutureTask<>(call);
    Thread thread = new Thread(task, "milepost-hbase-inspector");
    thread.setDaemon(true);
    thread.start();
    ObjectNode answer = JSON.createObjectNode();
    try {
      answer.put("reachable", true);
      answer.putNull("error");
      return answer.setAll(task.get(deadlineMillis, TimeUnit.MILLISECONDS));
    } catch (TimeoutException e) {
      task.cancel(true);
      return failed(answer, "timeout", "HBase at " + where(configuration) + " did not answer within "
          + deadlineMillis / 1000 + " s");
    } catch (ExecutionException e) {
      return failed(answer, isDenied(e.getCause()) ? "access-denied" : "unreachable",
          "HBase at " + where(configuration) + ": " + RootCause.describe(e.getCause()));
    } catch (InterruptedException e) {
      task.cancel(true);
      Thread.currentThread().interrupt();
      return failed(answer, "interrupted", "The request to HBase was interrupted");
    }
  }

  private static ObjectNode failed(ObjectNode answer, String kind, String message) {
    answer.put("reachable", kind.equals("access-denied"));
    answer.putObject("error").put("kind", kind).put("message", message);
    return answer;
  }

  static boolean isDenied(Throwable error) {
    for (Throwable at = error; at != null; at = at.getCause()) {
      if (at instanceof AccessDeniedException || String.valueOf(at.getMessage()).contains("AccessDeniedException")) {
        return true;
      }
    }
    return false;
  }

  /**
   * HBase's client does not distinguish a closed port from a slow one. Registries other than ZooKeeper use their own
   * addresses.
   */
  private static void requireOpenPort(Configuration configuration, long until) throws IOException, InterruptedException {
    if (configuration.get("hbase.client.registry.impl", "").contains("Rpc")) {
      return;
    }
    String port = configuration.get(HConstants.ZOOKEEPER_CLIENT_PORT, "2181");
    List<String> servers = Arrays.stream(where(configuration).split(","))
        .map(server -> server.contains(":") ? server.trim() : server.trim() + ":" + port).toList();
    OpenPort.await(servers, until);
  }

  private static Configuration withDeadline(HBaseOptions options, long deadlineMillis) {
    Configuration configuration = HBaseConnections.configuration(options);
    int timeout = (int) Math.max(deadlineMillis - 1000, 1000);
    configuration.setInt(HConstants.HBASE_CLIENT_OPERATION_TIMEOUT, timeout);
    configuration.setInt(HConstants.HBASE_CLIENT_META_OPERATION_TIMEOUT, timeout);
    configuration.setInt(HConstants.HBASE_RPC_TIMEOUT_KEY, timeout);
    configuration.setInt(HConstants.HBASE_CLIENT_RETRIES_NUMBER, 1);
    configuration.setInt(HConstants.ZK_SESSION_TIMEOUT, timeout);
    configuration.setInt("zookeeper.recovery.retry", 0);
    return configuration;
  }

  private static String where(Configuration configuration) {
    return configuration.get(HConstants.ZOOKEEPER_QUORUM);
  }
}
