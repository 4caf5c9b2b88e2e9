package io.milepost.hbase.write;

import io.milepost.hbase.bulkload.BulkLoadPlan;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.client.RootCause;
import io.milepost.hbase.mapping.KafkaColumn;
import io.milepost.hbase.mutation.MutationSink;
import io.milepost.job.LiveAcks;
import io.milepost.record.BadRecords;
import io.milepost.sink.WriterId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.function.BooleanSupplier;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.types.StructType;

/** Serialized to the executors, where it creates a writer for each task. */
final class HBaseDataWriterFactory implements DataWriterFactory, StreamingDataWriterFactory {
  private final StructType schema;
  private final HBaseOptions options;
  private final BulkLoadPlan plan;
  private final LiveAcks acks;

  /** For a write that belongs to no job. */
  HBaseDataWriterFactory(StructType schema, HBaseOptions options) {
    this(schema, options, null, null);
  }

  /** `plan` is null for mutations; `acks` is registered with Spark, or null where no job observes the write. */
  HBaseDataWriterFactory(StructType schema, HBaseOptions options, BulkLoadPlan plan, LiveAcks acks) {
    this.schema = schema;
    this.options = options;
    this.plan = plan;
    this.acks = acks;
  }

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task) {
    return createWriter(partition, task, WriterId.NO_EPOCH);
  }

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
    TaskContext context = TaskContext.get();
    WriterId id = WriterId.here(partition, task, epoch);
    RowVersion version = new RowVersion(options, schema, epoch, System::currentTimeMillis);
    RowToMutation rows = new RowToMutation(options, schema, version);
    BadRecords badRecords = BadRecords.of(options.asMap());
    try {
      BooleanSupplier cancelled = context == null ? () -> false : context::isInterrupted;
      MutationSink sink = MutationSinkFactory.create(options, plan, id, cancelled);
      return new HBaseDataWriter(id, KafkaColumn.of(schema), rows, sink, badRecords, acks);
    } catch (IOException e) {
      badRecords.close();
      throw new UncheckedIOException("No connection to HBase: " + RootCause.describe(e), e);
    }
  }
}
