package io.milepost.hbase.write;

import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mapping.Mapping;
import io.milepost.hbase.mutation.CasSender;
import io.milepost.hbase.rollback.RollbackBatchWrite;
import io.milepost.hbase.rollback.RollbackStreamingWrite;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;

/**
 * Builds the write. Refuses, before anything runs, options that do not fit the rows; an update is written as an
 * upsert.
 */
public final class HBaseWriteBuilder implements SupportsStreamingUpdateAsAppend {
  private final StructType schema;
  private final HBaseOptions options;

  public HBaseWriteBuilder(StructType schema, HBaseOptions options) {
    this.schema = schema;
    this.options = options;
  }

  @Override
  public Write build() {
    if (options.rollBack() != null) {
      return rollBack();
    }
    check();
    return new Write() {
      @Override
      public String description() {
        return "milepost-hbase " + options.table().getNameAsString();
      }

      @Override
      public StreamingWrite toStreaming() {
        return new HBaseStreamingWrite(schema, options);
      }

      @Override
      public BatchWrite toBatch() {
        if (options.versionKind() == HBaseOptions.VersionKind.CHECKPOINT) {
          throw new IllegalArgumentException("Version 'checkpoint' does not fit a batch write: there is no checkpoint to take"
              + " it from, and the time of day would make a repeated write a new one. Set version to column:<name>.");
        }
        if (options.write() != HBaseOptions.Write.MUTATIONS) {
          throw new IllegalArgumentException("Write '" + options.asMap().get(HBaseOptions.WRITE) + "' does not fit a batch write:"
              + " HFiles are loaded when a checkpoint is sealed, and there is none. Leave the option out.");
        }
        return new HBaseBatchWrite(schema, options);
      }
    };
  }

  private Write rollBack() {
    return new Write() {
      @Override
      public StreamingWrite toStreaming() {
        return new RollbackStreamingWrite(schema, options);
      }

      @Override
      public BatchWrite toBatch() {
        return new RollbackBatchWrite(schema, options);
      }
    };
  }

  private void checkBulkLoad() {
    if (options.write() == HBaseOptions.Write.MUTATIONS) {
      return;
    }
    options.stagingDir();
    options.bulkLoadFrom();
    options.bulkLoadChunkBytes();
    options.bulkLoadTimeoutMillis();
    if (options.write() == HBaseOptions.Write.AUTO && options.job() == null) {
      throw HBaseOptions.invalid(HBaseOptions.WRITE, "auto", "only a Milepost job knows how large a batch is",
          "use bulk-load or mutations");
    }
    if (options.versionKind() == HBaseOptions.VersionKind.SERVER_TIME) {
      throw HBaseOptions.invalid(HBaseOptions.WRITE, options.asMap().get(HBaseOptions.WRITE),
          "with version server-time no server gives the cells of an HFile their time",
          "use version offset, checkpoint, timestamp or column:<name>, or write mutations");
    }
  }

  private void check() {
    options.table();
    options.salt();
    options.deleteScope();
    options.nulls();
    options.generation();
    options.flushRows();
    options.flushBytes();
    options.flushIntervalMillis();
    options.maxCellBytes();
    checkBulkLoad();
    Mapping.forWrite(options, schema);
    RowToMutation.checkOp(options, schema);
    RowVersion.check(options, schema);
    if (options.guard() == HBaseOptions.Guard.CAS) {
      CasSender.check(options);
    }
    HBaseConnections.configuration(options);
  }
}
