package io.milepost.kafkasink;

import io.milepost.job.LiveAcks;
import io.milepost.sink.SealingWrite;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;

/** The driver side of a stream to Kafka. Commits nothing: that waits until Spark's own commit is durable (step 8). */
final class KafkaStreamingWrite extends SealingWrite {
  /** A batch that failed because the brokers are away must not wait for them once more; the next start aborts too. */
  private static final int PATIENCE_SECONDS = 10;

  private final KafkaSinkOptions options;

  KafkaStreamingWrite(KafkaSinkOptions options) {
    super(options.job());
    this.options = options;
  }

  @Override
  protected StreamingDataWriterFactory writerFactory(LiveAcks acks) {
    return new KafkaSinkWriterFactory(options, acks);
  }

  /**
   * False: it guards `commit` alone, and a second attempt has fenced the first one before it gets there. What the driver
   * seals is compared with the broker's own word instead, see {@link Transactions#fault}.
   */
  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  /** The batch has failed: what its writers left open is aborted, so that readers need not wait for the next attempt. */
  @Override
  public void abort(long epoch, WriterCommitMessage[] messages) {
    List<String> ids = new ArrayList<>();
    for (WriterCommitMessage message : messages) {
      if (message instanceof KafkaAck ack && ack.transaction() != null) {
        ids.add(ack.transaction().id());
      }
    }
    if (!ids.isEmpty()) {
      try (Transactions transactions = new Transactions(options)) {
        transactions.abort(ids, PATIENCE_SECONDS);
      }
    }
  }
}
