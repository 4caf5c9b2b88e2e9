package io.milepost.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.record.ClientProperties;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConsumerGroupOffsetsResult;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
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
 * Reads and writes the offsets of one consumer group, with the user's own client properties and without joining it.
 *
 * <p>It only does; what is written and what follows from an error is decided in Python. Nothing here throws for what a
 * broker says: each answer is JSON, `offsets` and `errors` by topic and partition. One client is kept from the first
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
   * Answers where the group stands in the partitions that `{topic: {partition: offset}}` names; the offsets in it are
   * not looked at. A partition without a committed offset is null.
   */
  public String read(String partitions) {
    Answer answer = new Answer();
    Map<TopicPartition, Long> asked = parse(partitions);
    try {
      Map<TopicPartition, OffsetAndMetadata> found = admin()
          .listConsumerGroupOffsets(Map.of(group, new ListConsumerGroupOffsetsSpec().topicPartitions(asked.keySet())))
          .partitionsToOffsetAndMetadata(group)
          .get(timeoutMs, TimeUnit.MILLISECONDS);
      asked.keySet().forEach(partition -> {
        // The client leaves out a partition that it got an error for, and gives null for one without an offset.
        if (found.containsKey(partition)) {
          OffsetAndMetadata offset = found.get(partition);
          answer.offset(partition, offset == null ? null : offset.offset());
        } else {
          answer.error(partition, "other", "the broker did not say where the group stands");
        }
      });
    } catch (Exception e) {
      interruptedAgain(e);
      asked.keySet().forEach(partition -> answer.error(partition, e));
    }
    return answer.toString();
  }

  /** Commits `{topic: {partition: next offset to read}}`, all of it in one request; the answer has what succeeded. */
  public String commit(String offsets) {
    Answer answer = new Answer();
    Map<TopicPartition, Long> wanted = parse(offsets);
    Map<TopicPartition, OffsetAndMetadata> valid = new LinkedHashMap<>();
    wanted.forEach((partition, offset) -> {
      if (offset < 0) {
        answer.error(partition, "other", "offset " + offset + " is negative");
      } else {
        valid.put(partition, new OffsetAndMetadata(offset));
      }
    });
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    AlterConsumerGroupOffsetsResult result;
    try {
      result = valid.isEmpty() ? null : admin().alterConsumerGroupOffsets(group, valid);
    } catch (RuntimeException e) {
      valid.keySet().forEach(partition -> answer.error(partition, e));
      return answer.toString();
    }
    // Not a transaction: the broker may take some partitions and refuse others.
    valid.forEach((partition, offset) -> {
      try {
        result.partitionResult(partition).get(Math.max(deadline - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
        answer.offset(partition, offset.offset());
      } catch (Exception e) {
        interruptedAgain(e);
        answer.error(partition, e);
      }
    });
    return answer.toString();
  }

  /** Ends the client; a call in flight gets an error. Safe to call again, and from another thread. */
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

  /** Created at the first call and not before: a broker whose name does not resolve is a failed commit, retried. */
  private synchronized Admin admin() {
    if (closed) {
      throw new IllegalStateException("the client of group " + group + " is closed");
    }
    if (admin == null) {
      admin = Admin.create(properties);
    }
    return admin;
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

  private static long offset(JsonNode value) {
    if (!value.canConvertToLong()) {
      throw new IllegalArgumentException("not an offset: " + value);
    }
    return value.longValue();
  }

  private static void interruptedAgain(Exception e) {
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
  }

  /** What a failure means to whoever has to act; the words are those that Python knows. */
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
    private final ObjectNode errors = document.putObject("errors");

    void offset(TopicPartition partition, Long offset) {
      offsets.withObjectProperty(partition.topic()).put(Integer.toString(partition.partition()), offset);
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
