package io.milepost.hbase;

import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;

/** Refuses, before anything runs, options that do not fit the rows; an update is written as an upsert. */
final class HBaseWriteBuilder implements SupportsStreamingUpdateAsAppend {
  private final StructType schema;
  private final HBaseOptions options;

  HBaseWriteBuilder(StructType schema, HBaseOptions options) {
    this.schema = schema;
    this.options = options;
  }

  @Override
  public Write build() {
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
        return new HBaseBatchWrite(schema, options);
      }
    };
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
    Mapping.forWrite(options, schema);
    RowToMutation.checkOp(options, schema);
    RowVersion.check(options, schema);
    HBaseConnections.configuration(options);
  }
}
