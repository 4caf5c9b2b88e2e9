package io.milepost.sink;

import io.milepost.job.Failpoint;
import io.milepost.job.Jobs;
import io.milepost.job.LiveAcks;
import io.milepost.watermark.LateWatermark;
import io.milepost.watermark.PartitionWatermarks;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;

/** The driver side of a streaming write to any sink: step 6 of a checkpoint begins here. */
public abstract class SealingWrite implements StreamingWrite {
  private final String job;
  private volatile int writers;

  /** `job` is null where the write belongs to no job. */
  protected SealingWrite(String job) {
    this.job = job;
  }

  /** `acks` is registered with Spark, or null where no job observes the write. */
  protected abstract StreamingDataWriterFactory writerFactory(LiveAcks acks);

  /** Called when all writers of the epoch have acknowledged, before the coordinator is asked to seal. */
  protected void acknowledged(long epoch, WriterCommitMessage[] messages) {}

  @Override
  public final StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
    writers = info.numPartitions();
    LiveAcks acks = job == null ? null : Jobs.of(job).acks();
    if (acks != null) {
      acks.begin(writers);
    }
    LateWatermark.announce();
    return writerFactory(acks);
  }

  /** May be called again for the same epoch; sealing is idempotent. */
  @Override
  public final void commit(long epoch, WriterCommitMessage[] messages) {
    WriterAck.crossCheck(messages, writers, epoch);
    Failpoint.reach("6-seal-before");
    acknowledged(epoch, messages);
    PartitionWatermarks.advance();
    if (job != null) {
      Jobs.of(job).seal(epoch, WriterAck.toJson(messages));
    }
    Failpoint.reach("6-seal-after");
  }

  /** Nothing to undo, unless a sink says so. */
  @Override
  public void abort(long epoch, WriterCommitMessage[] messages) {}
}
