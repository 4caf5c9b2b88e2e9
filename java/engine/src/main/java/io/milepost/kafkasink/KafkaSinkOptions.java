package io.milepost.kafkasink;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** The options of a Kafka sink, as set by Python. */
final class KafkaSinkOptions implements Serializable {
  private static final long serialVersionUID = 1L;
  /** Not `kafka.`: that prefix is for the client properties of the source. */
  private static final String PRODUCER = "producer.";

  private final HashMap<String, String> options;

  KafkaSinkOptions(Map<String, String> options) {
    this.options = new HashMap<>(options);
  }

  String job() {
    return options.get("job");
  }

  /**
   * The prefix of the ids of this job's transactions; null where rows are written at least once, without
   * transactions.
   */
  String transactionalIdPrefix() {
    return options.get("transactional-id-prefix");
  }

  boolean isTransactional() {
    return transactionalIdPrefix() != null;
  }

  /**
   * The id of a writer's transaction. Epochs take turns: those of N are committed while N+1 is written, and the
   * coordinator seals N+1 only when N is complete, so no third one is ever open.
   */
  String transactionalId(long epoch, int partition) {
    return transactionalIdPrefix() + "-" + epoch % 2 + "-" + partition;
  }

  /** True for an id that {@link #transactionalId} has made, of any epoch and partition. */
  boolean isOurs(String transactionalId) {
    return transactionalId.matches(Pattern.quote(transactionalIdPrefix()) + "-[01]-\\d+");
  }

  /** The user's client properties alone. */
  Map<String, Object> clientProperties() {
    Map<String, Object> properties = new HashMap<>();
    options.forEach((key, value) -> {
      if (key.startsWith(PRODUCER)) {
        properties.put(key.substring(PRODUCER.length()), value);
      }
    });
    return properties;
  }

  Map<String, Object> producerProperties() {
    Map<String, Object> properties = clientProperties();
    properties.put("acks", "all");
    properties.put("enable.idempotence", true);
    return properties;
  }

  Map<String, Object> producerProperties(String transactionalId) {
    Map<String, Object> properties = producerProperties();
    properties.put("transactional.id", transactionalId);
    properties.put("transaction.timeout.ms", options.get("transaction-timeout-ms"));
    return properties;
  }
}
