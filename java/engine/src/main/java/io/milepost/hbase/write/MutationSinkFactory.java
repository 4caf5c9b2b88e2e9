package io.milepost.hbase.write;

import io.milepost.hbase.bulkload.BulkLoadPlan;
import io.milepost.hbase.bulkload.HFileSink;
import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mutation.BatchSender;
import io.milepost.hbase.mutation.CasSender;
import io.milepost.hbase.mutation.MutationSender;
import io.milepost.hbase.mutation.MutationSink;
import io.milepost.hbase.mutation.TableSender;
import io.milepost.hbase.rpc.ConnectionRegionServers;
import io.milepost.hbase.rpc.DirectSender;
import io.milepost.hbase.rpc.RegionServers;
import io.milepost.sink.WriterId;
import java.io.IOException;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Table;

/** Chooses how the changes of a writer reach HBase. */
final class MutationSinkFactory {
  /** One is prepared while HBase syncs its log for the other: docs/decisions/0009. */
  private static final int REQUESTS_AT_ONCE = 2;

  private MutationSinkFactory() {}

  /**
   * `plan` is null where changes are sent as mutations. `cancelled` is checked before each send: a task that Spark
   * has abandoned must not write.
   */
  static MutationSink create(HBaseOptions options, BulkLoadPlan plan, WriterId id, BooleanSupplier cancelled) throws IOException {
    if (plan != null) {
      return new HFileSink(options, plan, id, cancelled);
    }
    Connection connection = HBaseConnections.shared(options);
    Table table = connection.getTable(options.table());
    BatchSender sender = switch (options.guard()) {
      case NONE -> unguarded(connection, table, options);
      case CAS -> new CasSender(table::batch, options);
    };
    return new MutationSender(options, sender, cancelled, "milepost-hbase-sender-" + id.partition());
  }

  /**
   * Offsets give each record its own version. Other versions may be equal, and then the later arrival must be the
   * later record.
   */
  private static int atOnce(HBaseOptions options) {
    return options.versionKind() == HBaseOptions.VersionKind.OFFSET ? REQUESTS_AT_ONCE : 1;
  }

  private static BatchSender unguarded(Connection connection, Table table, HBaseOptions options) throws IOException {
    BatchSender client = new TableSender(table);
    RegionServers servers = ConnectionRegionServers.of(connection, table.getName());
    return servers == null ? client : new DirectSender(servers, client, atOnce(options));
  }
}
