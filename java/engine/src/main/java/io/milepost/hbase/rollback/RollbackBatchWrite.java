package io.milepost.hbase.rollback;

import io.milepost.hbase.client.HBaseOptions;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** The driver side of a rollback of rows that are known by their keys. */
public final class RollbackBatchWrite implements BatchWrite {
  private final StructType schema;
  private final HBaseOptions options;
  private final RollbackPlan plan;

  public RollbackBatchWrite(StructType schema, HBaseOptions options) {
    this.schema = schema;
    this.options = options;
    this.plan = RollbackPlan.parse(options.rollBack());
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    return new RollbackWriterFactory(schema, options, plan);
  }

  /** False for the reason that {@link RollbackStreamingWrite} gives. */
  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    RollbackReports.add(plan.id(), messages);
  }

  @Override
  public void abort(WriterCommitMessage[] messages) {}
}
