package io.milepost.kafka;

import io.milepost.record.BadRecordException;
import io.milepost.record.BadRecords;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;

/**
 * Reads and decodes the records of one Kafka partition; what cannot be decoded goes to the policy and is passed over.
 *
 * <p>The offset advances past a bad record as past any other.
 */
final class DecodingReader implements SupportsRealTimeRead<InternalRow> {
  private static final RecordStatus NO_RECORD = RecordStatus.newStatusWithoutArrivalTime(false);

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
    while (kafka.next()) {
      if (accept(kafka.get())) {
        return true;
      }
    }
    return false;
  }

  @Override
  public RecordStatus nextWithTimeout(Long startTimeMs, Long timeoutMs) throws IOException {
    RecordStatus status = kafka.nextWithTimeout(startTimeMs, timeoutMs);
    // A rejected record ends this wait early; the engine asks again as long as the batch lasts.
    while (status.hasRecord() && !accept(kafka.get())) {
      status = kafka.nextWithTimeout(startTimeMs, timeoutMs);
    }
    return status.hasRecord() ? status : NO_RECORD;
  }

  @Override
  public PartitionOffset getOffset() {
    return kafka.getOffset();
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

  private boolean accept(InternalRow record) {
    try {
      current = decoder.decode(record);
      return true;
    } catch (BadRecordException bad) {
      badRecords.reject(RowDecoder.origin(record), bad.reason(), bad.getMessage(),
          RowDecoder.key(record), RowDecoder.value(record));
      return false;
    }
  }
}
