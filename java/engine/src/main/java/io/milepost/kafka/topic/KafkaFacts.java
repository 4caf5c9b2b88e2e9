package io.milepost.kafka.topic;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.kafka.group.OffsetOwner;
import io.milepost.net.OpenPort;
import io.milepost.record.ClientProperties;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the broker reports, read with the user's client properties and returned to Python as JSON.
 *
 * <p>Read-only; Python decides what follows.
 */
public final class KafkaFacts {
  private static final Logger LOG = LoggerFactory.getLogger(KafkaFacts.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  /** For a request while the job runs; a start has its own timeout. */
  private static final int TIMEOUT_MS = 10_000;
  private static final int SETTLE_MS = 8_000;

  private KafkaFacts() {}

  /**
   * Options: `kafka.*`; `topics` (comma separated) or `topic-pattern`; `group`, `timestamp-ms` and `bad-records.topic`
   * where wanted;
   * `connect-timeout-ms`, how long each question may take.
   * Answers topics with ids and, per partition, earliest, latest, group and at-timestamp offsets, and the topic that the
   * group's offset belongs to where its metadata says so; or an error.
   */
  public static String describe(Map<String, String> options) {
    ObjectNode facts = JSON.createObjectNode();
    Map<String, Object> properties = new HashMap<>(ClientProperties.of(options));
    int timeout = Integer.parseInt(options.getOrDefault("connect-timeout-ms", Integer.toString(TIMEOUT_MS)));
    properties.put("default.api.timeout.ms", timeout);
    properties.put("request.timeout.ms", timeout / 2);
    try {
      checkReader(options);
    } catch (ConfigException e) {
      error(facts, "properties", e);
      return facts.toString();
    }
    try (Admin admin = Admin.create(properties)) {
      OpenPort.await(servers(options), System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Math.min(SETTLE_MS, timeout)));
      Set<String> existing = admin.listTopics().names().get();
      Set<String> wanted = wanted(options, existing);
      ObjectNode topics = facts.putObject("topics");
      Set<String> found = new LinkedHashSet<>(wanted);
      found.retainAll(existing);
      facts.set("existing", JSON.valueToTree(existing));
      describe(admin, found, options, topics);
      String deadLetters = options.get("bad-records.topic");
      if (deadLetters != null && existing.contains(deadLetters)) {
        facts.put("dead-letter-writable", permits(describe(admin, Set.of(deadLetters)).get(deadLetters), AclOperation.WRITE));
      }
    } catch (ExecutionException e) {
      error(facts, kind(e.getCause()), e.getCause());
    } catch (IOException e) {
      error(facts, "unreachable", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      error(facts, "unreachable", e);
    } catch (RuntimeException e) {
      error(facts, "properties", e);
    }
    return facts.toString();
  }

  /** The admin client checks only its own properties; an error in those of a reader would show up when the job runs. */
  private static void checkReader(Map<String, String> options) {
    Map<String, Object> properties = new HashMap<>(ClientProperties.of(options));
    properties.put("key.deserializer", ByteArrayDeserializer.class);
    properties.put("value.deserializer", ByteArrayDeserializer.class);
    new ConsumerConfig(properties);
  }

  private static Set<String> wanted(Map<String, String> options, Set<String> existing) {
    Set<String> wanted = new LinkedHashSet<>();
    if (options.containsKey("topic-pattern")) {
      Pattern pattern = Pattern.compile(options.get("topic-pattern"));
      existing.stream().filter(topic -> !topic.startsWith("__") && pattern.matcher(topic).matches()).sorted()
          .forEach(wanted::add);
    } else {
      wanted.addAll(List.of(options.get("topics").split(",")));
    }
    return wanted;
  }

  private static void describe(Admin admin, Set<String> names, Map<String, String> options, ObjectNode topics)
      throws ExecutionException, InterruptedException {
    Map<String, TopicDescription> descriptions = describe(admin, names);
    Set<TopicPartition> partitions = new LinkedHashSet<>();
    descriptions.forEach((name, description) -> description.partitions()
        .forEach(partition -> partitions.add(new TopicPartition(name, partition.partition()))));
    Map<String, Map<TopicPartition, Long>> offsets = new TreeMap<>();
    offsets.put("earliest", offsets(admin, partitions, OffsetSpec.earliest()));
    offsets.put("latest", offsets(admin, partitions, OffsetSpec.latest()));
    if (options.containsKey("timestamp-ms")) {
      long time = Long.parseLong(options.get("timestamp-ms"));
      offsets.put("at-timestamp", offsets(admin, partitions, OffsetSpec.forTimestamp(time)));
    }
    if (options.containsKey("stop-timestamp-ms")) {
      long time = Long.parseLong(options.get("stop-timestamp-ms"));
      offsets.put("at-stop-timestamp", offsets(admin, partitions, OffsetSpec.forTimestamp(time)));
    }
    Map<TopicPartition, String> owners = new HashMap<>();
    if (options.containsKey("group")) {
      Map<TopicPartition, OffsetAndMetadata> committed = groupOffsets(admin, options.get("group"), partitions);
      String cluster = admin.describeCluster().clusterId().get();
      Map<TopicPartition, Long> group = new HashMap<>();
      committed.forEach((partition, offset) -> {
        group.put(partition, offset.offset());
        owners.put(partition, OffsetOwner.topicId(offset.metadata(), cluster));
      });
      offsets.put("group", group);
    }
    Map<String, String> timestampTypes = timestampTypes(admin, names);
    descriptions.forEach((name, description) -> {
      ObjectNode topic = topics.putObject(name);
      topic.put("id", description.topicId().toString());
      topic.put("readable", permits(description, AclOperation.READ));
      topic.put("timestamp-type", timestampTypes.get(name));
      ObjectNode each = topic.putObject("partitions");
      partitions.stream().filter(partition -> partition.topic().equals(name)).forEach(partition -> {
        ObjectNode facts = each.putObject(Integer.toString(partition.partition()));
        offsets.forEach((kind, values) -> {
          Long offset = values.get(partition);
          // Kafka answers -1 where no record is that late.
          if (offset != null && offset >= 0) {
            facts.put(kind, offset);
          }
        });
        if (owners.get(partition) != null) {
          facts.put("group-topic-id", owners.get(partition));
        }
      });
    });
  }

  private static Map<String, TopicDescription> describe(Admin admin, Set<String> names)
      throws ExecutionException, InterruptedException {
    DescribeTopicsOptions withPermissions = new DescribeTopicsOptions().includeAuthorizedOperations(true);
    return admin.describeTopics(names, withPermissions).allTopicNames().get();
  }

  /** Which side sets the timestamps of a topic's records; empty where this client lacks permission. */
  private static Map<String, String> timestampTypes(Admin admin, Set<String> names)
      throws InterruptedException {
    Map<String, String> types = new HashMap<>();
    try {
      List<ConfigResource> topics =
          names.stream().map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name)).toList();
      admin.describeConfigs(topics).all().get().forEach((topic, config) ->
          types.put(topic.name(), config.get(TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG).value()));
    } catch (ExecutionException e) {
      LOG.info("The broker did not report which side sets record timestamps: {}", e.toString());
    }
    return types;
  }

  /**
   * Describing a topic is one permission, reading or writing it another; a broker that does not report permissions
   * allows both.
   */
  private static boolean permits(TopicDescription topic, AclOperation operation) {
    return topic.authorizedOperations() == null || topic.authorizedOperations().contains(operation);
  }

  private static Map<TopicPartition, Long> offsets(Admin admin, Set<TopicPartition> partitions, OffsetSpec spec)
      throws ExecutionException, InterruptedException {
    Map<TopicPartition, OffsetSpec> specs = new HashMap<>();
    partitions.forEach(partition -> specs.put(partition, spec));
    // Read committed: an open transaction is not yet part of the log.
    ListOffsetsOptions committed = new ListOffsetsOptions(IsolationLevel.READ_COMMITTED);
    Map<TopicPartition, Long> offsets = new HashMap<>();
    for (Map.Entry<TopicPartition, ListOffsetsResultInfo> entry
        : admin.listOffsets(specs, committed).all().get().entrySet()) {
      offsets.put(entry.getKey(), entry.getValue().offset());
    }
    return offsets;
  }

  private static Map<TopicPartition, OffsetAndMetadata> groupOffsets(
      Admin admin, String group, Set<TopicPartition> partitions) throws ExecutionException, InterruptedException {
    Map<TopicPartition, OffsetAndMetadata> committed =
        new HashMap<>(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get());
    committed.keySet().retainAll(partitions);
    committed.values().removeIf(Objects::isNull);
    return committed;
  }

  private static List<String> servers(Map<String, String> options) {
    String servers = options.getOrDefault("kafka.bootstrap.servers", "");
    return Arrays.stream(servers.split(",")).map(server -> server.replaceFirst("^.*://", "").trim()).toList();
  }

  private static String kind(Throwable cause) {
    if (cause instanceof AuthorizationException) {
      return "forbidden";
    }
    return cause instanceof AuthenticationException ? "unauthenticated" : "unreachable";
  }

  private static void error(ObjectNode facts, String kind, Throwable cause) {
    ObjectNode error = facts.putObject("error");
    error.put("kind", kind);
    Throwable root = cause;
    while (root.getCause() != null) { // the client's own sentence is "Failed to create new KafkaAdminClient"
      root = root.getCause();
    }
    error.put("message", root.getMessage() == null ? root.getClass().getSimpleName() : root.getMessage());
  }
}
