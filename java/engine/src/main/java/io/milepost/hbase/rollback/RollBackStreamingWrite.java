package io.milepost.hbase.rollback;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.job.LiveAcks;
import io.milepost.sink.SealingWrite;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.types.StructType;

/** The driver's end of a stream of rows that are rolled back instead of written. */
public final class RollBackStreamingWrite extends SealingWrite {
  private final StructType schema;
  private final HBaseOptions options;
  private final RollBackPlan plan;

  public RollBackStreamingWrite(StructType schema, HBaseOptions options) {
    super(options.job());
    this.schema = schema;
    this.options = options;
    this.plan = RollBackPlan.parse(options.rollBack());
  }

  @Override
  protected StreamingDataWriterFactory writerFactory(LiveAcks acks) {
    return new RollBackWriterFactory(schema, options, plan);
  }

  /** False: a row that is rolled back twice is what it was after the first time. */
  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  @Override
  protected void acknowledged(long epoch, WriterCommitMessage[] messages) {
    RollBackReports.add(plan.id(), messages);
  }
}
