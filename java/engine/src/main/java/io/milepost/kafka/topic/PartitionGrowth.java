package io.milepost.kafka.topic;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.milepost.job.GrowthWatch;
import io.milepost.job.Job;
import io.milepost.version.Eras;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the number of partitions of a source. Begins a new era of versions before a batch runs that may hold
 * records from after a growth: keys then move, also between old partitions, and their offsets do not compare.
 *
 * <p>The broker is asked once the end of the batch is fixed. Its answer then holds for every record of the batch: if
 * a topic has not grown by then, no record in the batch was produced after it grew. All calls come from the engine's
 * thread.
 */
public final class PartitionGrowth implements GrowthWatch, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PartitionGrowth.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  /** How long a batch waits for the broker before it runs; the seal checks a later answer. */
  private static final long PLAN_WAIT_MS = 500;
  private static final long SEAL_WAIT_MS = 10_000;

  private final Supplier<CompletableFuture<Map<String, Eras.Topic>>> broker;
  private final AutoCloseable client;
  private final Job job;
  private final long transition;
  private final LongSupplier clock;

  private Question question;
  private Question atSeal;
  private long since;

  private record Question(CompletableFuture<Map<String, Eras.Topic>> answer, long askedAt, Map<String, Map<Integer, Long>> ends) {}

  /** `transition` is how long producers may take, in milliseconds, to learn of new partitions. */
  PartitionGrowth(Supplier<CompletableFuture<Map<String, Eras.Topic>>> broker, AutoCloseable client, Job job, long transition,
      LongSupplier clock) {
    this.broker = broker;
    this.client = client;
    this.job = job;
    this.transition = transition;
    this.clock = clock;
    this.since = job.notGrownAt();
  }

  /** Null where the versions of the job's cells are not offsets, and there is nothing to watch. */
  public static PartitionGrowth of(Map<String, String> options, Job job) {
    String transition = options.get("transition-ms");
    if (transition == null || job.eras() == null) {
      return null;
    }
    Admin admin = TopicIds.admin(options);
    return new PartitionGrowth(PartitionCountRequest.of(options, admin), () -> admin.close(Duration.ZERO), job,
        Long.parseLong(transition), System::currentTimeMillis);
  }

  /** Called when the ends of the log have just been requested, beyond which no batch reads before the next call. */
  public void atBoundary(String ends) {
    question = ask(offsets(ends));
  }

  /** Called before a batch from `start` to a known end runs. */
  public void planned(String start) {
    atSeal = look(start);
  }

  /** Called before a batch runs that reads from `start` for as long as it lasts. */
  public void plannedOpenEnded(String start) {
    look(start);
    atSeal = null;
  }

  private Question look(String start) {
    // A batch that runs again was bounded by another driver, which ended before it recorded what it saw.
    Question asked = question == null ? ask(Map.of()) : question;
    question = null;
    Map<String, Eras.Topic> seen = answered(asked, PLAN_WAIT_MS);
    Eras known = job.eras();
    Eras next = known.observed(withEnds(seen, asked.ends, known), offsets(start), new Eras.Look(since, asked.askedAt, transition))
        .settled(asked.ends, asked.askedAt);
    if (next != known) {
      LOG.info("New eras of versions begin at {}: {}", start, next.toJson());
      job.begin(next);
    }
    if (seen != null) {
      since = asked.askedAt;
    }
    return asked;
  }

  /** Adds what Spark has seen and the broker's answer lacks: another broker may have answered, or none. */
  private static Map<String, Eras.Topic> withEnds(Map<String, Eras.Topic> seen, Map<String, Map<Integer, Long>> ends, Eras known) {
    Map<String, Eras.Topic> all = seen == null ? new TreeMap<>() : new TreeMap<>(seen);
    ends.forEach((name, partitions) -> {
      if (known.of(name) != null) {
        all.merge(name, new Eras.Topic("", partitions.size()), (a, b) -> a.partitions() < b.partitions() ? b : a);
      }
    });
    return all;
  }

  @Override
  public void requireNotGrown() {
    // An open-ended batch has read up to now; any other has its answer already, unless the broker is slow.
    Question asked = atSeal == null ? ask(Map.of()) : atSeal;
    Map<String, Eras.Topic> seen = answered(asked, SEAL_WAIT_MS);
    if (seen == null && atSeal == null) {
      throw new PartitionsGrownException("possibly: the broker did not report how many partitions there are");
    }
    String growth = seen == null ? null : job.eras().growth(seen);
    if (growth != null) {
      throw new PartitionsGrownException(growth);
    }
  }

  @Override
  public void close() {
    try {
      client.close();
    } catch (Exception e) {
      LOG.warn("The client that watches partitions could not be closed: {}", e.toString());
    }
  }

  private Question ask(Map<String, Map<Integer, Long>> ends) {
    long now = clock.getAsLong();
    try {
      return new Question(broker.get(), now, ends);
    } catch (RuntimeException e) {
      return new Question(CompletableFuture.failedFuture(e), now, ends);
    }
  }

  /** Null where the broker does not answer in that time. */
  private static Map<String, Eras.Topic> answered(Question asked, long timeoutMs) {
    try {
      return asked.answer.get(timeoutMs, TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException e) {
      LOG.warn("The broker did not report how many partitions the topics have: {}", e.toString());
      return null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UncheckedIOException(new InterruptedIOException("stopped while the broker was asked for partitions"));
    }
  }

  private static Map<String, Map<Integer, Long>> offsets(String json) {
    try {
      return JSON.readValue(json, new TypeReference<TreeMap<String, Map<Integer, Long>>>() {});
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("Not offsets: " + json, e);
    }
  }
}
