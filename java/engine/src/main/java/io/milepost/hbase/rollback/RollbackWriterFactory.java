package io.milepost.hbase.rollback;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.client.RootCause;
import io.milepost.sink.WriterId;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.types.StructType;

/** Serialized to the executors, where it creates a writer that rolls rows back for each task. */
final class RollbackWriterFactory implements DataWriterFactory, StreamingDataWriterFactory {
  private final StructType schema;
  private final HBaseOptions options;
  private final RollbackPlan plan;

  RollbackWriterFactory(StructType schema, HBaseOptions options, RollbackPlan plan) {
    this.schema = schema;
    this.options = options;
    this.plan = plan;
  }

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task) {
    return createWriter(partition, task, WriterId.NO_EPOCH);
  }

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
    try {
      return new RollbackWriter(WriterId.here(partition, task, epoch), plan, options, schema);
    } catch (IOException e) {
      throw new UncheckedIOException("No connection to HBase: " + RootCause.describe(e), e);
    }
  }
}
