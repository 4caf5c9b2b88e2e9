package io.milepost.kafka;

import io.milepost.job.Failpoint;
import io.milepost.job.Gate;
import io.milepost.job.Job;
import io.milepost.kafka.reader.DecodingReaderFactory;
import io.milepost.kafka.topic.PartitionGrowth;
import io.milepost.kafka.topic.TopicChangedException;
import io.milepost.kafka.topic.TopicIds;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/**
 * Spark's Kafka stream behind the job's gate (step 2).
 *
 * <p>While the gate is closed the answer to "how far may the next batch go?" is "to where you are", and Kafka is not
 * asked. Everything else is Spark's own connector.
 */
final class GatedKafkaStream
    implements MicroBatchStream, SupportsTriggerAvailableNow, SupportsRealTimeMode, ReportsSourceMetrics {
  /** How long a boundary waits for the broker to say the ids of the topics; it is asked for their ends in the meantime. */
  private static final long IDS_WAIT_MS = 200;

  private final String id;
  private final MicroBatchStream kafka;
  private final Job job;
  private final Map<String, String> options;
  private final StopOffsets stop;
  private final TopicIds topics;
  private final PartitionGrowth growth;
  private boolean asked;
  private boolean openEnded;

  GatedKafkaStream(String id, MicroBatchStream kafka, Job job, Map<String, String> options) {
    this.id = id;
    this.kafka = kafka;
    this.job = job;
    this.options = options;
    this.stop = StopOffsets.of(options.get("stop-offsets"));
    this.topics = new TopicIds(options, options.get("topic-ids"));
    job.watch(id, topics);
    this.growth = PartitionGrowth.of(options, job);
    if (growth != null) {
      job.watch(id, growth);
    }
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    Offset position = RepeatedOffset.strip(start);
    job.sourceAt(id, position.json());
    if (stop.reachedBy(position.json())) {
      job.sourceFinished(id);
    }
    job.atGate();
    Gate.Answer answer = job.gate().ask(id);
    if (answer == Gate.Answer.WAIT) {
      return start;
    }
    topics.request();
    Failpoint.reach("2-trigger");
    Offset latest = latest(position, limit);
    asked = true;
    Offset end = latest == null ? position : stop.limit(latest, kafka);
    boolean isNew = !end.equals(position);
    if (growth != null && (isNew || openEnded || answer == Gate.Answer.GO_EVEN_IF_EMPTY)) {
      growth.atBoundary(latest == null ? position.json() : reportLatestOffset().json());
    }
    if (isNew) {
      return end;
    }
    return answer == Gate.Answer.GO_EVEN_IF_EMPTY ? RepeatedOffset.after(start) : start;
  }

  /** Asks Kafka where its topics end, and refuses topics that are not those the job began with: their end means nothing. */
  private Offset latest(Offset position, ReadLimit limit) {
    Offset latest;
    try {
      latest = ((SupportsAdmissionControl) kafka).latestOffset(position, limit);
    } catch (RuntimeException e) {
      requireSameTopics(); // of a topic that is gone Spark has less to say
      throw e;
    }
    requireSameTopics();
    return latest;
  }

  private void requireSameTopics() {
    try {
      String fault = topics.faultWithin(IDS_WAIT_MS);
      if (fault != null) {
        throw new TopicChangedException(fault);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UncheckedIOException(new InterruptedIOException("stopped at the gate"));
    }
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is the one the engine calls");
  }

  @Override
  public Offset initialOffset() {
    return kafka.initialOffset();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return RepeatedOffset.read(json, kafka.deserializeOffset(json.strip()));
  }

  /** Null, which Spark takes for "not known", until Kafka was asked once: Spark's connector would fail. */
  @Override
  public Offset reportLatestOffset() {
    return asked ? ((SupportsAdmissionControl) kafka).reportLatestOffset() : null;
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return ((SupportsAdmissionControl) kafka).getDefaultReadLimit();
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    if (growth != null) {
      growth.planned(start.json());
    }
    Offset from = RepeatedOffset.strip(start);
    Offset to = RepeatedOffset.strip(end);
    job.sourcePlanned(id, OffsetSpan.records(from.json(), to.json()));
    return kafka.planInputPartitions(from, to);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new DecodingReaderFactory(kafka.createReaderFactory(), options, job.rejected());
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    ((SupportsTriggerAvailableNow) kafka).prepareForTriggerAvailableNow();
  }

  @Override
  public void prepareForRealTimeMode() {
    openEnded = true;
    ((SupportsRealTimeMode) kafka).prepareForRealTimeMode();
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    if (growth != null) {
      growth.plannedOpenEnded(start.json());
    }
    return ((SupportsRealTimeMode) kafka).planInputPartitions(RepeatedOffset.strip(start));
  }

  @Override
  public Offset mergeOffsets(PartitionOffset[] offsets) {
    return ((SupportsRealTimeMode) kafka).mergeOffsets(offsets);
  }

  @Override
  public Map<String, String> metrics(Optional<Offset> latestConsumed) {
    return ((ReportsSourceMetrics) kafka).metrics(latestConsumed.map(RepeatedOffset::strip));
  }

  @Override
  public void commit(Offset end) {
    kafka.commit(RepeatedOffset.strip(end));
  }

  @Override
  public void stop() {
    topics.close();
    if (growth != null) {
      growth.close();
    }
    kafka.stop();
  }

  @Override
  public String toString() {
    return kafka.toString();
  }
}
