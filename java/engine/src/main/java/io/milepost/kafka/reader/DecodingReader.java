package io.milepost.kafka.reader;

import io.milepost.record.BadRecordException;
import io.milepost.record.BadRecords;
import io.milepost.record.Origin;
import java.io.IOException;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.kafka010.KafkaSourcePartitionOffset;

/**
 * Reads and decodes the records of one Kafka partition; bad records go to the policy and are skipped.
 *
 * <p>The offset advances past a bad record as past any other.
 */
final class DecodingReader implements SupportsRealTimeRead<InternalRow> {
  private static final RecordStatus NO_RECORD = RecordStatus.newStatusWithoutArrivalTime(false);
  private static final RecordStatus SAME_RECORD = RecordStatus.newStatusWithoutArrivalTime(true);

  private final SupportsRealTimeRead<InternalRow> kafka;
  private final RowDecoder decoder;
  private final BadRecords badRecords;
  private InternalRow current;

  DecodingReader(SupportsRealTimeRead<InternalRow> kafka, RowDecoder decoder, BadRecords badRecords) {
    this.kafka = kafka;
    this.decoder = decoder;
    this.badRecords = badRecords;
  }

  @Override
  public boolean next() throws IOException {
    if (takeMore()) {
      return true;
    }
    while (kafka.next()) {
      if (accept(kafka.get())) {
        return true;
      }
    }
    return false;
  }

  @Override
  public RecordStatus nextWithTimeout(Long startTimeMs, Long timeoutMs) throws IOException {
    if (takeMore()) {
      return SAME_RECORD;
    }
    RecordStatus status = kafka.nextWithTimeout(startTimeMs, timeoutMs);
    // A rejected record ends this wait early; the engine asks again as long as the batch lasts.
    while (status.hasRecord() && !accept(kafka.get())) {
      status = kafka.nextWithTimeout(startTimeMs, timeoutMs);
    }
    return status.hasRecord() ? status : NO_RECORD;
  }

  /**
   * A batch that ends between the rows of a record ends before the record: the next batch reads the whole record
   * again.
   */
  @Override
  public PartitionOffset getOffset() {
    if (!decoder.hasMore()) {
      return kafka.getOffset();
    }
    Origin origin = RowDecoder.origin(kafka.get());
    return new KafkaSourcePartitionOffset(new TopicPartition(origin.topic(), origin.partition()), origin.offset());
  }

  @Override
  public InternalRow get() {
    return current;
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return kafka.currentMetricsValues();
  }

  @Override
  public void close() throws IOException {
    kafka.close();
  }

  private boolean takeMore() {
    if (!decoder.hasMore()) {
      return false;
    }
    current = decoder.more();
    return true;
  }

  private boolean accept(InternalRow record) {
    try {
      current = decoder.decode(record);
      if (current == null) {
        badRecords.passOver();
      }
      return current != null;
    } catch (BadRecordException bad) {
      badRecords.reject(RowDecoder.origin(record), bad.reason(), bad.getMessage(),
          RowDecoder.key(record), RowDecoder.value(record));
      return false;
    }
  }
}
