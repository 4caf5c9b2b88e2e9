package io.milepost.hbase.rollback;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.job.LiveAcks;
import io.milepost.sink.SealingWrite;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.types.StructType;

/** The driver side of a stream of rows that are rolled back instead of written. */
public final class RollbackStreamingWrite extends SealingWrite {
  private final StructType schema;
  private final HBaseOptions options;
  private final RollbackPlan plan;

  public RollbackStreamingWrite(StructType schema, HBaseOptions options) {
    super(options.job());
    this.schema = schema;
    this.options = options;
    this.plan = RollbackPlan.parse(options.rollBack());
  }

  @Override
  protected StreamingDataWriterFactory writerFactory(LiveAcks acks) {
    return new RollbackWriterFactory(schema, options, plan);
  }

  /** False: rolling a row back twice has the same effect as once. */
  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  @Override
  protected void acknowledged(long epoch, WriterCommitMessage[] messages) {
    RollbackReports.add(plan.id(), messages);
  }
}
