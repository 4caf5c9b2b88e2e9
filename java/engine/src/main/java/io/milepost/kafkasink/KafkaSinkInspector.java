package io.milepost.kafkasink;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** What the broker reports about the sink's topic, returned to Python as JSON. Read-only. */
public final class KafkaSinkInspector {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int TIMEOUT_MS = 10_000;

  private KafkaSinkInspector() {}

  /** `topic` is null where rows name theirs. Answers whether it exists and how long a transaction may last, or an error. */
  public static String describe(Map<String, String> options, String topic) {
    ObjectNode facts = JSON.createObjectNode();
    Map<String, Object> properties = new KafkaSinkOptions(options).clientProperties();
    properties.put("default.api.timeout.ms", TIMEOUT_MS);
    properties.put("request.timeout.ms", TIMEOUT_MS / 2);
    try (Admin admin = Admin.create(properties)) {
      if (topic != null) {
        facts.put("topic-exists", exists(admin, topic));
      }
      Long longest = longestTransaction(admin);
      if (longest != null) {
        facts.put("longest-transaction-ms", longest);
      }
    } catch (ExecutionException | TimeoutException | KafkaException e) {
      Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
      facts.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      facts.put("error", "interrupted");
    }
    return facts.toString();
  }

  private static boolean exists(Admin admin, String topic)
      throws ExecutionException, InterruptedException, TimeoutException {
    try {
      admin.describeTopics(List.of(topic)).allTopicNames().get(TIMEOUT_MS, TimeUnit.MILLISECONDS);
      return true;
    } catch (ExecutionException e) {
      if (e.getCause() instanceof UnknownTopicOrPartitionException) {
        return false;
      }
      throw e;
    }
  }

  /** Null where this user may not ask. */
  private static Long longestTransaction(Admin admin)
      throws ExecutionException, InterruptedException, TimeoutException {
    try {
      String node = admin.describeCluster().nodes().get(TIMEOUT_MS, TimeUnit.MILLISECONDS).iterator().next().idString();
      ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, node);
      ConfigEntry entry = admin.describeConfigs(List.of(broker)).all().get(TIMEOUT_MS, TimeUnit.MILLISECONDS)
          .get(broker).get("transaction.max.timeout.ms");
      return entry == null || entry.value() == null ? null : Long.valueOf(entry.value());
    } catch (ExecutionException e) {
      if (e.getCause() instanceof AuthorizationException) {
        return null;
      }
      throw e;
    }
  }
}
