package io.milepost.collect;

import io.milepost.job.LiveAcks;
import io.milepost.sink.WriterId;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.types.StructType;

/** Serialized to the executors, where it creates a writer for each task. */
record CollectWriterFactory(StructType schema, int mostRows, LiveAcks acks) implements StreamingDataWriterFactory {
  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
    return new CollectWriter(schema, mostRows, WriterId.here(partition, task, epoch), acks);
  }
}
