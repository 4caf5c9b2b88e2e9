package io.milepost.hbase.write;

import io.milepost.hbase.mapping.KafkaColumn;
import io.milepost.hbase.mutation.MutationSink;
import io.milepost.hbase.mutation.RowChange;
import io.milepost.job.LiveAcks;
import io.milepost.record.BadRecordException;
import io.milepost.record.BadRecords;
import io.milepost.sink.WriterId;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** Writes the rows of one task. Most rows reach HBase before `commit`, which waits until all have. */
final class HBaseDataWriter implements DataWriter<InternalRow> {
  private final WriterId id;
  private final KafkaColumn kafkaColumn;
  private final RowToMutation rows;
  private final MutationSink sink;
  private final BadRecords badRecords;
  private final LiveAcks acks;
  private final OffsetRanges offsets = new OffsetRanges();

  private long puts;
  private long deletes;
  private long noops;
  private long ignored;
  private long bad;

  /** `acks` is null where no job observes the write. */
  HBaseDataWriter(WriterId id, KafkaColumn kafkaColumn, RowToMutation rows, MutationSink sink, BadRecords badRecords,
      LiveAcks acks) {
    this.id = id;
    this.kafkaColumn = kafkaColumn;
    this.rows = rows;
    this.sink = sink;
    this.badRecords = badRecords;
    this.acks = acks;
  }

  @Override
  public void write(InternalRow row) throws IOException {
    InternalRow kafka = kafkaColumn.read(row);
    if (kafka != null) {
      offsets.add(kafka);
    }
    try {
      switch (rows.op(row, kafka)) {
        case UPSERT -> upsert(row, kafka);
        case DELETE -> {
          sink.add(rows.delete(row, kafka));
          deletes++;
        }
        case IGNORE -> ignored++;
      }
    } catch (BadRecordException e) {
      badRecords.reject(KafkaColumn.origin(kafka), e.reason(), e.getMessage());
      bad++;
    }
  }

  private void upsert(InternalRow row, InternalRow kafka) throws IOException, BadRecordException {
    RowChange change = rows.upsert(row, kafka);
    if (change == null) {
      noops++;
    } else {
      sink.add(change);
      puts++;
    }
  }

  /** Step 5: the acknowledgement. When this returns, nothing of this task is pending anywhere. */
  @Override
  public WriterCommitMessage commit() throws IOException {
    sink.flush();
    badRecords.flush();
    HBaseCommitMessage.Counts counts = new HBaseCommitMessage.Counts(puts, deletes, noops, ignored, bad);
    return new HBaseCommitMessage(id, counts, badRecords.counts(), sink.sent(), sink.staged(), offsets.byPartition())
        .give(acks);
  }

  @Override
  public void abort() {
    sink.abort();
  }

  @Override
  public void close() {
    sink.close();
    badRecords.close();
  }
}
