package io.milepost.kafkasink;

import io.milepost.job.Failpoint;
import io.milepost.job.LiveAcks;
import io.milepost.sink.WriterId;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * Sends the rows of one task as they arrive (step 4). The first row opens the transaction. `commit` flushes it and
 * leaves it open: the driver commits it when the checkpoint is complete.
 */
final class KafkaSinkWriter implements DataWriter<InternalRow> {
  static final int TOPIC = 0;
  static final int KEY = 1;
  static final int VALUE = 2;

  private final KafkaSinkOptions options;
  private final WriterId id;
  private final LiveAcks acks;
  private final AtomicReference<Exception> failure = new AtomicReference<>();

  private KafkaProducer<byte[], byte[]> producer;
  private long rows;
  private long bytes;

  /** `acks` is null where no job observes the write. */
  KafkaSinkWriter(KafkaSinkOptions options, WriterId id, LiveAcks acks) {
    this.options = options;
    this.id = id;
    this.acks = acks;
  }

  @Override
  public void write(InternalRow row) {
    requireNoFailure();
    if (row.isNullAt(TOPIC)) {
      throw KafkaWriteException.fatal("A row has no topic: the column that sink.kafka.topic-column names is null in it");
    }
    byte[] key = row.isNullAt(KEY) ? null : row.getBinary(KEY);
    byte[] value = row.isNullAt(VALUE) ? null : row.getBinary(VALUE);
    try {
      if (producer == null) {
        producer = open();
        Failpoint.reach("4-write");
      }
      producer.send(new ProducerRecord<>(row.getUTF8String(TOPIC).toString(), key, value), (sent, error) -> {
        if (error != null) {
          failure.compareAndSet(null, error);
        }
      });
    } catch (KafkaException e) {
      requireNoFailure(); // the first failure has the cause; this one only reports that there was one
      throw KafkaWriteException.of("A record could not be sent", e);
    }
    rows++;
    bytes += (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
  }

  private KafkaProducer<byte[], byte[]> open() {
    if (options.isTransactional()) {
      return TransactionalProducer.begin(options, options.transactionalId(id.epoch(), id.partition()));
    }
    return new KafkaProducer<>(options.producerProperties(), new ByteArraySerializer(), new ByteArraySerializer());
  }

  /** Step 5: the acknowledgement. When it returns, the broker has every record. */
  @Override
  public WriterCommitMessage commit() {
    long began = System.nanoTime();
    if (producer != null) {
      producer.flush();
      requireNoFailure();
    }
    OpenTransaction transaction = producer instanceof TransactionalProducer open ? open.open() : null;
    long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
    return new KafkaAck(id, rows, bytes, millis, transaction).give(acks);
  }

  /** Aborts immediately if possible, so that readers need not wait for the next attempt to do it. */
  @Override
  public void abort() {
    if (producer instanceof TransactionalProducer) {
      try {
        producer.abortTransaction();
      } catch (KafkaException e) {
        // Fenced, interrupted or cut off: the next producer of this id aborts it, or the broker after its timeout.
      }
    }
  }

  /** Sends nothing and aborts nothing: what was not flushed belongs to an attempt that failed. */
  @Override
  public void close() {
    if (producer != null) {
      producer.close(java.time.Duration.ZERO);
    }
  }

  private void requireNoFailure() {
    if (failure.get() != null) {
      throw KafkaWriteException.of("A record could not be written", failure.get());
    }
  }
}
