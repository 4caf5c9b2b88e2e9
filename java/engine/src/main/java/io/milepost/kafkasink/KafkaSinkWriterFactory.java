package io.milepost.kafkasink;

import io.milepost.job.LiveAcks;
import io.milepost.sink.WriterId;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;

/** Serialized to the executors, where it creates a writer for each task. */
record KafkaSinkWriterFactory(KafkaSinkOptions options, LiveAcks acks) implements StreamingDataWriterFactory {
  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
    return new KafkaSinkWriter(options, WriterId.here(partition, task, epoch), acks);
  }
}
