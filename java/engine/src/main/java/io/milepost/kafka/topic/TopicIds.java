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
 * Checks that the topics of a source stay the ones it began with: a topic that was deleted and created again has
 * another id, and offsets of the old one are invalid in it.
 *
 * <p>The broker is asked at each boundary, in parallel with the request for the ends of the topics, with a short
 * wait; the seal checks a later answer. A broker that does not answer is not a fault. Once a fault is found, it
 * stays.
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
   * Options of the source: `kafka.*`, and `subscribe` or `subscribePattern`. `expected` is a JSON object of topics
   * and ids, null for none; a topic without an id in it gets the first one seen.
   */
  public TopicIds(Map<String, String> options, String expected) {
    this(options, parse(expected), admin(options));
  }

  private TopicIds(Map<String, String> options, Map<String, String> expected, Admin admin) {
    this(expected, question(options, admin), () -> admin.close(Duration.ZERO));
  }

  /** `broker` returns the ids of the existing topics of the source. */
  TopicIds(Map<String, String> expected, Supplier<CompletionStage<Map<String, String>>> broker, AutoCloseable client) {
    this.known = new TreeMap<>(expected);
    this.broker = broker;
    this.client = client;
  }

  /** Asks the broker, unless a request is pending; returns immediately and never throws. */
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

  /** The message that names a topic that has changed, or null; based on the answers so far. */
  @Override
  public synchronized String fault() {
    return fault;
  }

  /** The same, after waiting up to `timeoutMs` for a pending answer. */
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

  /** The ids as a JSON object, including those of topics created since the start. */
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
      LOG.warn("The broker did not report the ids of the topics; the next boundary asks again: {}", cause.toString());
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
      throw new IllegalArgumentException("Not topic ids: " + expected, e);
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
