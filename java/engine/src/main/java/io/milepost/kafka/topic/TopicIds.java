package io.milepost.kafka.topic;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.milepost.job.TopicWatch;
import io.milepost.record.ClientProperties;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches that a source's topics stay the ones it began with: a topic that was deleted and created again has another id,
 * and offsets of the old one mean nothing in it.
 *
 * <p>The broker is asked at each boundary, beside the question where the topics end, and waited for a moment; an answer that
 * is later is looked at by the seal. A broker that does not answer is no fault. What is once wrong stays wrong.
 */
public final class TopicIds implements TopicWatch, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TopicIds.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int TIMEOUT_MS = 10_000;

  private final Supplier<CompletionStage<Map<String, String>>> broker;
  private final AutoCloseable client;

  // All below is guarded by this.
  private final TreeMap<String, String> known;
  private boolean asked;
  private boolean closed;
  private String fault;

  /**
   * Options as the source has them: `kafka.*`, and `subscribe` or `subscribePattern`. `expected` is a JSON object of
   * topics and ids, null for none; a topic without an id there gets the first that is seen.
   */
  public TopicIds(Map<String, String> options, String expected) {
    this(options, parse(expected), admin(options));
  }

  private TopicIds(Map<String, String> options, Map<String, String> expected, Admin admin) {
    this(expected, question(options, admin), () -> admin.close(Duration.ZERO));
  }

  /** `broker` answers with the ids of those topics of the source that exist. */
  TopicIds(Map<String, String> expected, Supplier<CompletionStage<Map<String, String>>> broker, AutoCloseable client) {
    this.known = new TreeMap<>(expected);
    this.broker = broker;
    this.client = client;
  }

  /** Asks the broker, unless a question is still open; returns at once and never throws. */
  public void request() {
    synchronized (this) {
      if (asked || closed || fault != null) {
        return;
      }
      asked = true;
    }
    try {
      broker.get().whenComplete(this::answered);
    } catch (RuntimeException e) {
      answered(null, e);
    }
  }

  /** The sentence that says which topic is not the one it was, or null; by the answers that are in. */
  @Override
  public synchronized String fault() {
    return fault;
  }

  /** The same, after waiting at most so long for the answer to an open question. */
  public synchronized String faultWithin(long timeoutMs) throws InterruptedException {
    long deadline = System.nanoTime() + timeoutMs * 1_000_000;
    while (asked && !closed && fault == null) {
      long left = (deadline - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        break;
      }
      wait(left);
    }
    return fault;
  }

  /** The ids as a JSON object, with those of topics that came since the start. */
  @Override
  public synchronized String known() {
    return JSON.valueToTree(known).toString();
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      notifyAll();
    }
    try {
      client.close();
    } catch (Exception e) {
      LOG.warn("The client that watches topic ids could not be closed: {}", e.toString());
    }
  }

  private synchronized void answered(Map<String, String> existing, Throwable error) {
    asked = false;
    notifyAll();
    if (error != null) {
      Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
      LOG.warn("The broker does not say the ids of the topics; it is asked again at the next boundary: {}", cause.toString());
      return;
    }
    known.forEach((topic, id) -> {
      String now = existing.get(topic);
      if (now == null) {
        fault = "topic " + topic + " was deleted";
      } else if (!now.equals(id)) {
        fault = "topic " + topic + " was deleted and created again: its id is " + now + " and was " + id;
      }
    });
    existing.forEach(known::putIfAbsent);
  }

  private static Map<String, String> parse(String expected) {
    if (expected == null) {
      return Map.of();
    }
    try {
      return JSON.readValue(expected, new TypeReference<Map<String, String>>() {});
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("These are no topic ids: " + expected, e);
    }
  }

  static Admin admin(Map<String, String> options) {
    Map<String, Object> properties = new HashMap<>(ClientProperties.of(options));
    properties.put("default.api.timeout.ms", TIMEOUT_MS);
    properties.put("request.timeout.ms", TIMEOUT_MS / 2);
    return Admin.create(properties);
  }

  private static Supplier<CompletionStage<Map<String, String>>> question(Map<String, String> options, Admin admin) {
    String pattern = options.get("subscribePattern");
    if (pattern != null) {
      Pattern compiled = Pattern.compile(pattern);
      return () -> list(admin, compiled);
    }
    List<String> topics = List.of(options.get("subscribe").split(","));
    return () -> describe(admin, topics);
  }

  private static CompletionStage<Map<String, String>> list(Admin admin, Pattern pattern) {
    return admin.listTopics(new ListTopicsOptions().timeoutMs(TIMEOUT_MS)).listings().toCompletionStage()
        .thenApply(listings -> {
          Map<String, String> ids = new HashMap<>();
          listings.stream().filter(listing -> !listing.isInternal() && pattern.matcher(listing.name()).matches())
              .forEach(listing -> ids.put(listing.name(), listing.topicId().toString()));
          return ids;
        });
  }

  private static CompletionStage<Map<String, String>> describe(Admin admin, List<String> topics) {
    Map<String, String> ids = new ConcurrentHashMap<>();
    List<CompletableFuture<?>> answers = new ArrayList<>();
    admin.describeTopics(topics, new DescribeTopicsOptions().timeoutMs(TIMEOUT_MS)).topicNameValues()
        .forEach((topic, future) -> answers.add(future.toCompletionStage().toCompletableFuture().handle((description, error) -> {
          if (error == null) {
            ids.put(topic, description.topicId().toString());
          } else if (!isUnknownTopic(error)) {
            throw new CompletionException(error);
          }
          return null;
        })));
    return CompletableFuture.allOf(answers.toArray(new CompletableFuture<?>[0])).thenApply(done -> ids);
  }

  private static boolean isUnknownTopic(Throwable error) {
    return error instanceof UnknownTopicOrPartitionException || error.getCause() instanceof UnknownTopicOrPartitionException;
  }
}
