package io.milepost.collect;

import io.milepost.job.LiveAcks;
import io.milepost.sink.SealingWrite;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.types.StructType;

/**
 * The driver side of a stream to the driver: hands over the rows of an epoch before the coordinator is asked to seal
 * it.
 */
final class CollectStreamingWrite extends SealingWrite {
  private final StructType schema;
  private final String job;
  private final int mostRows;

  /** The option `rows` limits how many rows a task returns; the rest is only counted. */
  CollectStreamingWrite(StructType schema, Map<String, String> options) {
    super(options.get("job"));
    this.schema = schema;
    this.job = options.get("job");
    this.mostRows = Integer.parseInt(options.getOrDefault("rows", String.valueOf(Integer.MAX_VALUE)));
  }

  @Override
  protected StreamingDataWriterFactory writerFactory(LiveAcks acks) {
    return new CollectWriterFactory(schema, mostRows, acks);
  }

  @Override
  protected void acknowledged(long epoch, WriterCommitMessage[] messages) {
    List<CollectAck> acks = Arrays.stream(messages).map(CollectAck.class::cast).toList();
    CollectedRows.put(job, new CollectedRows(epoch, acks));
  }

  /** False: the rows of a task are nowhere until the driver has them. */
  @Override
  public boolean useCommitCoordinator() {
    return false;
  }
}
