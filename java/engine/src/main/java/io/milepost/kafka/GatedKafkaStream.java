package io.milepost.kafka;

import io.milepost.job.Job;
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
  private final String id;
  private final MicroBatchStream kafka;
  private final Job job;
  private final Map<String, String> options;
  private final StopOffsets stop;

  GatedKafkaStream(String id, MicroBatchStream kafka, Job job, Map<String, String> options) {
    this.id = id;
    this.kafka = kafka;
    this.job = job;
    this.options = options;
    this.stop = StopOffsets.of(options.get("stop-offsets"));
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    job.sourceAt(id, start.json());
    if (stop.reachedBy(start.json())) {
      job.sourceFinished(id);
    }
    if (!job.gate().admits(id)) {
      return start;
    }
    Offset end = ((SupportsAdmissionControl) kafka).latestOffset(start, limit);
    return end == null ? null : stop.limit(end, kafka);
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
    return kafka.deserializeOffset(json);
  }

  @Override
  public Offset reportLatestOffset() {
    return ((SupportsAdmissionControl) kafka).reportLatestOffset();
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return ((SupportsAdmissionControl) kafka).getDefaultReadLimit();
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return kafka.planInputPartitions(start, end);
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
    ((SupportsRealTimeMode) kafka).prepareForRealTimeMode();
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    return ((SupportsRealTimeMode) kafka).planInputPartitions(start);
  }

  @Override
  public Offset mergeOffsets(PartitionOffset[] offsets) {
    return ((SupportsRealTimeMode) kafka).mergeOffsets(offsets);
  }

  @Override
  public Map<String, String> metrics(Optional<Offset> latestConsumed) {
    return ((ReportsSourceMetrics) kafka).metrics(latestConsumed);
  }

  @Override
  public void commit(Offset end) {
    kafka.commit(end);
  }

  @Override
  public void stop() {
    kafka.stop();
  }

  @Override
  public String toString() {
    return kafka.toString();
  }
}
