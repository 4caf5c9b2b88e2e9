package io.milepost.kafka.reader;

import io.milepost.decode.Decoders;
import io.milepost.decode.change.ChangeDecoder;
import io.milepost.record.RejectedRecords;
import io.milepost.record.TaskBadRecords;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;

/** Adds a decoder to each of Spark's Kafka readers; the only part that is serialized to the executors. */
public final class DecodingReaderFactory implements PartitionReaderFactory {
  private final PartitionReaderFactory kafka;
  private final Map<String, String> options;
  private final RejectedRecords rejected;

  /** `rejected` is null in a batch read, where nothing is counted. */
  public DecodingReaderFactory(PartitionReaderFactory kafka, Map<String, String> options, RejectedRecords rejected) {
    this.kafka = kafka;
    this.options = options;
    this.rejected = rejected;
  }

  @Override
  @SuppressWarnings("unchecked") // Spark's reader supports both modes; the interface does not declare it.
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    SupportsRealTimeRead<InternalRow> reader = (SupportsRealTimeRead<InternalRow>)
        (PartitionReader<? extends InternalRow>) kafka.createReader(partition);
    return new DecodingReader(reader, rowDecoder(), TaskBadRecords.open(options, rejected));
  }

  private RowDecoder rowDecoder() {
    ChangeDecoder changes = Decoders.changes(options);
    return changes != null ? new ChangeRowDecoder(Decoders.schema(options), changes)
        : new RowDecoder(Decoders.schema(options), Decoders.of(options), options.get("tombstone-column"));
  }
}
