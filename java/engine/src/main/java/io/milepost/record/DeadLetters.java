package io.milepost.record;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Policy `dead-letter`: the original bytes go to a topic, with the reason and the coordinates in the headers.
 *
 * <p>A replayed batch sends its dead letters again; the coordinates make them recognizable. The counts do not double.
 */
final class DeadLetters implements BadRecords {
  /** Python finds the sentence behind this marker in Spark's error text. */
  private static final String MARKER = "MILEPOST_DEAD_LETTER ";
  private static final long FLUSH_TIMEOUT_SECONDS = 60;
  /** An upper bound, taken from the heap only as letters wait for the broker; one letter may need all of it. */
  private static final long MAX_BUFFER_BYTES = 128L << 20;

  private final Map<String, Object> clientProperties;
  private final String topic;
  private final Tally tally = new Tally();
  private final List<Future<RecordMetadata>> sent = new ArrayList<>();
  private KafkaProducer<byte[], byte[]> producer;
  private RecordFetcher fetcher;

  DeadLetters(Map<String, String> options) {
    this.topic = options.get("bad-records.topic");
    if (topic == null) {
      throw new IllegalArgumentException("bad-records is dead-letter, but bad-records.topic names no topic");
    }
    this.clientProperties = ClientProperties.of(options);
  }

  @Override
  public void reject(Origin origin, Reason reason, String detail) {
    if (origin == null) {
      throw new RejectedRecordException(null, reason, detail);
    }
    if (fetcher == null) {
      fetcher = new RecordFetcher(clientProperties);
    }
    ConsumerRecord<byte[], byte[]> original = fetcher.fetch(origin);
    reject(origin, reason, detail, original.key(), original.value());
  }

  @Override
  public void reject(Origin origin, Reason reason, String detail, byte[] key, byte[] value) {
    ProducerRecord<byte[], byte[]> letter = new ProducerRecord<>(topic, key, value);
    Headers headers = letter.headers();
    headers.add("milepost.topic", text(origin.topic()));
    headers.add("milepost.partition", text(Integer.toString(origin.partition())));
    headers.add("milepost.offset", text(Long.toString(origin.offset())));
    headers.add("milepost.reason", text(reason.name()));
    headers.add("milepost.detail", text(detail));
    sent.add(producer().send(letter));
    tally.add(reason);
  }

  @Override
  public void passOver() {
    tally.add(Reason.NO_CHANGE);
  }

  @Override
  public Map<Reason, Long> counts() {
    return tally.counts();
  }

  @Override
  public void flush() {
    if (sent.isEmpty()) {
      return;
    }
    producer.flush();
    for (Future<RecordMetadata> letter : sent) {
      await(letter);
    }
    sent.clear();
  }

  @Override
  public void close() {
    if (producer != null) {
      // Zero: what was not flushed belongs to an attempt that failed and will be sent by the next one.
      producer.close(java.time.Duration.ZERO);
    }
    if (fetcher != null) {
      fetcher.close();
    }
  }

  private void await(Future<RecordMetadata> letter) {
    try {
      letter.get(FLUSH_TIMEOUT_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while dead letters were sent to " + topic, e);
    } catch (ExecutionException | TimeoutException e) {
      throw new IllegalStateException(
          MARKER + "A dead letter could not be written to topic '" + topic + "': " + e.getMessage(), e);
    }
  }

  private KafkaProducer<byte[], byte[]> producer() {
    if (producer == null) {
      Map<String, Object> properties = new java.util.HashMap<>(clientProperties);
      properties.put("acks", "all");
      properties.put("enable.idempotence", true);
      // What could be read must be writable: the client's own limits (1 MiB a request) are below a broker's.
      properties.putIfAbsent("max.request.size", Integer.MAX_VALUE);
      properties.putIfAbsent("buffer.memory", MAX_BUFFER_BYTES);
      producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
    }
    return producer;
  }

  private static byte[] text(String value) {
    return value.getBytes(StandardCharsets.UTF_8);
  }
}
