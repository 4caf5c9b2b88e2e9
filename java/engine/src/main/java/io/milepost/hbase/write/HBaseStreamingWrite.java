package io.milepost.hbase.write;

import io.milepost.hbase.bulkload.BulkLoad;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.job.Jobs;
import io.milepost.job.LiveAcks;
import io.milepost.sink.SealingWrite;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.types.StructType;

/**
 * The driver side of a streaming write to HBase: step 6 of a checkpoint begins here, with the load of HFiles if there
 * are any.
 */
final class HBaseStreamingWrite extends SealingWrite {
  private final StructType schema;
  private final HBaseOptions options;
  private final BulkLoad bulkLoad;

  HBaseStreamingWrite(StructType schema, HBaseOptions options) {
    super(options.job());
    this.schema = schema;
    this.options = options;
    this.bulkLoad = new BulkLoad(options);
  }

  @Override
  protected StreamingDataWriterFactory writerFactory(LiveAcks acks) {
    // The sources of this batch are planned by now, and have begun a new era where a topic has grown.
    HBaseOptions now = options.job() == null ? options : options.withEras(Jobs.of(options.job()).eras());
    return new HBaseDataWriterFactory(schema, now, bulkLoad.plan(), acks);
  }

  /**
   * False: the coordinator guards only `commit`, while rows are in HBase as soon as they are flushed. Explicit
   * versions make a second attempt harmless, and without the coordinator a task saves a round trip to the driver.
   */
  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  @Override
  protected void acknowledged(long epoch, WriterCommitMessage[] messages) {
    bulkLoad.load(epoch, HBaseCommitMessage.staged(messages));
  }

  /** Nothing to undo: what was written is written again, to the same cells. HFiles are never loaded in this case. */
  @Override
  public void abort(long epoch, WriterCommitMessage[] messages) {
    bulkLoad.discard();
  }
}
