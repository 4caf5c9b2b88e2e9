package io.milepost.kafka.group;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.record.ClientProperties;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConsumerGroupOffsetsResult;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.IllegalGenerationException;
import org.apache.kafka.common.errors.StaleMemberEpochException;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/**
 * Reads and writes the offsets of one consumer group, with the user's client properties and without joining the
 * group.
 *
 * <p>Python decides what is written and how to react to an error. Nothing here throws for what a broker answers: each
 * result is JSON, with `offsets`, `topic-ids` and `errors` by topic and partition. One client is kept from the first
 * call to `close`.
 */
public final class GroupOffsets implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int TIMEOUT_MS = 10_000;
  private static final Duration CLOSE_WAIT = Duration.ofSeconds(1);

  private final Map<String, Object> properties;
  private final String group;
  private final int timeoutMs;
  private Admin admin;
  private String clusterId;
  private boolean closed;

  /** Options: `kafka.*`. Nothing is connected before the first call. */
  public GroupOffsets(Map<String, String> options, String group) {
    this(options, group, TIMEOUT_MS);
  }

  GroupOffsets(Map<String, String> options, String group, int timeoutMs) {
    this.properties = new HashMap<>(ClientProperties.of(options));
    this.properties.put("default.api.timeout.ms", timeoutMs);
    this.properties.put("request.timeout.ms", timeoutMs / 2);
    this.group = group;
    this.timeoutMs = timeoutMs;
  }

  /**
   * Returns the offsets of the group for the partitions that `{topic: {partition: offset}}` names; the offsets in it
   * are ignored. A partition without a committed offset is null. `topic-ids` has the topic that an offset belongs to,
   * where its metadata names it.
   */
  public String read(String partitions) {
    Answer answer = new Answer();
    Map<TopicPartition, Long> asked = parse(partitions);
    try {
      String cluster = clusterId();
      Map<TopicPartition, OffsetAndMetadata> found = admin()
          .listConsumerGroupOffsets(Map.of(group, new ListConsumerGroupOffsetsSpec().topicPartitions(asked.keySet())))
          .partitionsToOffsetAndMetadata(group)
          .get(timeoutMs, TimeUnit.MILLISECONDS);
      asked.keySet().forEach(partition -> {
        // The client omits a partition with an error, and returns null for one without an offset.
        if (found.containsKey(partition)) {
          OffsetAndMetadata offset = found.get(partition);
          answer.offset(partition, offset == null ? null : offset.offset());
          answer.owner(partition, offset == null ? null : OffsetOwner.topicId(offset.metadata(), cluster));
        } else {
          answer.error(partition, "other", "the broker did not report the offset of the group");
        }
      });
    } catch (Exception e) {
      restoreInterrupt(e);
      asked.keySet().forEach(partition -> answer.error(partition, e));
    }
    return answer.toString();
  }

  /**
   * Commits `{topic: {partition: next offset to read}}`, all of it in one request; returns what succeeded.
   *
   * <p>`topicIds` is `{topic: id}`: the topics that the offsets belong to. Their ids are read from the broker right
   * before, and nothing is committed to a topic that is missing or has another id; a topic without an id here is not
   * compared. The id becomes the metadata of the offset, so that the next reader recognizes a topic that changes in
   * between.
   */
  public String commit(String offsets, String topicIds) {
    Answer answer = new Answer();
    Map<TopicPartition, Long> wanted = parse(offsets);
    wanted.entrySet().removeIf(entry -> {
      if (entry.getValue() < 0) {
        answer.error(entry.getKey(), "other", "offset " + entry.getValue() + " is negative");
      }
      return entry.getValue() < 0;
    });
    Map<String, String> owners = parseIds(topicIds);
    try {
      requireOwners(wanted.keySet(), owners, answer);
      write(wanted, owners, answer);
    } catch (Exception e) {
      restoreInterrupt(e);
      wanted.keySet().forEach(partition -> answer.error(partition, e));
    }
    return answer.toString();
  }

  /** Removes the partitions of topics that the offsets do not belong to, each with its error. */
  private void requireOwners(Set<TopicPartition> partitions, Map<String, String> owners, Answer answer) throws Exception {
    Set<String> topics = new HashSet<>();
    partitions.forEach(partition -> topics.add(partition.topic()));
    topics.retainAll(owners.keySet());
    if (topics.isEmpty()) {
      return;
    }
    long deadline = deadline();
    for (Map.Entry<String, KafkaFuture<TopicDescription>> topic
        : admin().describeTopics(topics).topicNameValues().entrySet()) {
      String owner = owners.get(topic.getKey());
      try {
        String present = within(deadline, topic.getValue()).topicId().toString();
        if (!present.equals(owner)) {
          refuse(partitions, topic.getKey(), partition -> answer.error(partition, "another-topic",
              "its id is " + present + ", and the offsets belong to " + owner));
        }
      } catch (ExecutionException | TimeoutException e) {
        refuse(partitions, topic.getKey(), partition -> answer.error(partition, e));
      }
    }
  }

  private static void refuse(Set<TopicPartition> partitions, String topic, Consumer<TopicPartition> error) {
    partitions.removeIf(partition -> {
      boolean isRefused = partition.topic().equals(topic);
      if (isRefused) {
        error.accept(partition);
      }
      return isRefused;
    });
  }

  private void write(Map<TopicPartition, Long> wanted, Map<String, String> owners, Answer answer) throws Exception {
    if (wanted.isEmpty()) {
      return;
    }
    String cluster = clusterId();
    Map<TopicPartition, OffsetAndMetadata> marked = new LinkedHashMap<>();
    wanted.forEach((partition, offset) -> {
      String owner = owners.get(partition.topic());
      marked.put(partition, new OffsetAndMetadata(offset, owner == null ? "" : OffsetOwner.metadata(cluster, owner)));
    });
    long deadline = deadline();
    AlterConsumerGroupOffsetsResult result = admin().alterConsumerGroupOffsets(group, marked);
    // Not a transaction: the broker may take some partitions and refuse others.
    marked.forEach((partition, offset) -> {
      try {
        within(deadline, result.partitionResult(partition));
        answer.offset(partition, offset.offset());
      } catch (Exception e) {
        restoreInterrupt(e);
        answer.error(partition, e);
      }
    });
  }

  /** Closes the client; a call in flight gets an error. May be called more than once, and from another thread. */
  @Override
  public void close() {
    Admin last;
    synchronized (this) {
      closed = true;
      last = admin;
      admin = null;
    }
    if (last != null) {
      last.close(CLOSE_WAIT);
    }
  }

  /**
   * Created at the first call and not before: a broker whose name does not resolve is a failed commit, which is
   * retried.
   */
  private synchronized Admin admin() {
    if (closed) {
      throw new IllegalStateException("the client of group " + group + " is closed");
    }
    if (admin == null) {
      admin = Admin.create(properties);
    }
    return admin;
  }

  /** The id of the cluster, read once; a cluster does not change under one client. */
  private String clusterId() throws Exception {
    synchronized (this) {
      if (clusterId != null) {
        return clusterId;
      }
    }
    String found = within(deadline(), admin().describeCluster().clusterId());
    synchronized (this) {
      clusterId = found;
      return found;
    }
  }

  private long deadline() {
    return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
  }

  private static <T> T within(long deadline, KafkaFuture<T> future)
      throws ExecutionException, InterruptedException, TimeoutException {
    return future.get(Math.max(deadline - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
  }

  static Map<TopicPartition, Long> parse(String offsets) {
    Map<TopicPartition, Long> parsed = new LinkedHashMap<>();
    try {
      JSON.readTree(offsets).properties().forEach(topic -> topic.getValue().properties().forEach(partition -> {
        int number = Integer.parseInt(partition.getKey());
        parsed.put(new TopicPartition(topic.getKey(), number), offset(partition.getValue()));
      }));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not offsets: " + offsets, e);
    }
    return parsed;
  }

  static Map<String, String> parseIds(String topicIds) {
    try {
      return JSON.readValue(topicIds, new TypeReference<Map<String, String>>() {});
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not topic ids: " + topicIds, e);
    }
  }

  private static long offset(JsonNode value) {
    if (!value.canConvertToLong()) {
      throw new IllegalArgumentException("not an offset: " + value);
    }
    return value.longValue();
  }

  private static void restoreInterrupt(Exception e) {
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
  }

  /** The kind of a failure, in the words that Python knows. */
  static String kind(Throwable cause) {
    if (cause instanceof UnknownMemberIdException || cause instanceof IllegalGenerationException
        || cause instanceof StaleMemberEpochException || cause instanceof FencedInstanceIdException) {
      return "members";
    }
    if (cause instanceof AuthorizationException) {
      return "forbidden";
    }
    if (cause instanceof AuthenticationException) {
      return "unauthenticated";
    }
    if (cause instanceof UnknownTopicOrPartitionException) {
      return "unknown-partition";
    }
    if (cause instanceof TimeoutException || cause instanceof org.apache.kafka.common.errors.TimeoutException) {
      return "unreachable";
    }
    // Admin.create wraps what is wrong with a property, or with the names of all brokers, once.
    Throwable wrapped = cause instanceof KafkaException && cause.getCause() != null ? cause.getCause() : cause;
    if (wrapped instanceof ConfigException) {
      return "properties";
    }
    return "other";
  }

  /** Offsets and errors by topic and partition, as JSON. */
  private static final class Answer {
    private final ObjectNode document = JSON.createObjectNode();
    private final ObjectNode offsets = document.putObject("offsets");
    private final ObjectNode owners = document.putObject("topic-ids");
    private final ObjectNode errors = document.putObject("errors");

    void offset(TopicPartition partition, Long offset) {
      offsets.withObjectProperty(partition.topic()).put(Integer.toString(partition.partition()), offset);
    }

    void owner(TopicPartition partition, String topicId) {
      if (topicId != null) {
        owners.withObjectProperty(partition.topic()).put(Integer.toString(partition.partition()), topicId);
      }
    }

    void error(TopicPartition partition, Exception failure) {
      Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
      Throwable root = cause;
      while (root.getCause() != null) { // the client's own sentence is "Failed to create new KafkaAdminClient"
        root = root.getCause();
      }
      error(partition, kind(cause), root.getMessage() == null ? root.getClass().getSimpleName() : root.getMessage());
    }

    void error(TopicPartition partition, String kind, String message) {
      errors.withObjectProperty(partition.topic()).putObject(Integer.toString(partition.partition()))
          .put("kind", kind).put("message", message);
    }

    @Override
    public String toString() {
      return document.toString();
    }
  }
}
