package io.milepost.hbase.write;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.sink.WriterId;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** The driver side of a batch write to HBase, which belongs to no checkpoint. Writes nothing itself. */
final class HBaseBatchWrite implements BatchWrite {
  private final StructType schema;
  private final HBaseOptions options;
  private volatile int writers;

  HBaseBatchWrite(StructType schema, HBaseOptions options) {
    this.schema = schema;
    this.options = options;
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    writers = info.numPartitions();
    return new HBaseDataWriterFactory(schema, options);
  }

  /** False for the reason that {@link HBaseStreamingWrite} gives. */
  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    HBaseCommitMessage.crossCheck(messages, writers, WriterId.NO_EPOCH);
  }

  /** Nothing to undo: a repeated write goes to the same cells. */
  @Override
  public void abort(WriterCommitMessage[] messages) {}
}
