package io.milepost.hbase;

import io.milepost.job.Failpoint;
import io.milepost.job.Jobs;
import io.milepost.job.LiveAcks;
import io.milepost.watermark.PartitionWatermarks;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.types.StructType;

/** The driver's end of a stream into HBase: step 6 of a checkpoint begins here. Writes nothing itself. */
final class HBaseStreamingWrite implements StreamingWrite {
  private final StructType schema;
  private final HBaseOptions options;
  private volatile int writers;

  HBaseStreamingWrite(StructType schema, HBaseOptions options) {
    this.schema = schema;
    this.options = options;
  }

  @Override
  public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
    writers = info.numPartitions();
    LiveAcks acks = options.job() == null ? null : Jobs.of(options.job()).acks();
    if (acks != null) {
      acks.begin(writers);
    }
    return new HBaseDataWriterFactory(schema, options, acks);
  }

  /**
   * False: the coordinator guards `commit` only, while rows are in HBase as soon as they are flushed. Explicit versions are
   * what makes a second attempt harmless, and without it a task saves a round trip to the driver.
   */
  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  /** May be called again for the same epoch; sealing is idempotent. */
  @Override
  public void commit(long epoch, WriterCommitMessage[] messages) {
    HBaseCommitMessage.crossCheck(messages, writers, epoch);
    Failpoint.reach("6-seal-before");
    PartitionWatermarks.advance();
    Jobs.seal(options.job(), epoch, HBaseCommitMessage.toJson(messages));
    Failpoint.reach("6-seal-after");
  }

  /** Nothing to undo: what was written will be written again, to the same cells. */
  @Override
  public void abort(long epoch, WriterCommitMessage[] messages) {}
}
