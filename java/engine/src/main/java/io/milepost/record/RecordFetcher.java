package io.milepost.record;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads one record again by its coordinates.
 *
 * <p>The sink rejects rarely; reading such a record a second time is cheaper than carrying the original bytes of every
 * record through the plan.
 */
final class RecordFetcher implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(500);

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> fetched = new HashMap<>();

  RecordFetcher(Map<String, Object> clientProperties) {
    Map<String, Object> properties = new HashMap<>(clientProperties);
    properties.put("enable.auto.commit", false);
    properties.put("auto.offset.reset", "none");
    consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  ConsumerRecord<byte[], byte[]> fetch(Origin origin) {
    TopicPartition partition = new TopicPartition(origin.topic(), origin.partition());
    ConsumerRecord<byte[], byte[]> known = find(partition, origin.offset());
    if (known != null) {
      return known;
    }
    consumer.assign(List.of(partition));
    consumer.seek(partition, origin.offset());
    long deadline = System.nanoTime() + TIMEOUT.toNanos();
    while (System.nanoTime() < deadline) {
      fetched.put(partition, consumer.poll(POLL).records(partition));
      ConsumerRecord<byte[], byte[]> found = find(partition, origin.offset());
      if (found != null) {
        return found;
      }
    }
    throw new IllegalStateException("Record " + origin + " could not be read again within "
        + TIMEOUT.toSeconds() + " s to be sent to the dead-letter topic");
  }

  @Override
  public void close() {
    consumer.close(Duration.ZERO);
  }

  private ConsumerRecord<byte[], byte[]> find(TopicPartition partition, long offset) {
    for (ConsumerRecord<byte[], byte[]> record : fetched.getOrDefault(partition, List.of())) {
      if (record.offset() == offset) {
        return record;
      }
    }
    return null;
  }
}
