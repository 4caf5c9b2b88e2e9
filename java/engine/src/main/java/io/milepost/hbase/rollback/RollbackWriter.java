package io.milepost.hbase.rollback;

import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mapping.KafkaColumn;
import io.milepost.hbase.mapping.Mapping;
import io.milepost.hbase.mapping.RowKeyEncoder;
import io.milepost.hbase.mutation.RowChange;
import io.milepost.record.BadRecordException;
import io.milepost.sink.WriterId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/**
 * Restores rows that were written after a boundary to their values at the boundary. The restored cells get versions
 * above all that was written, so that no exact-version delete blocks the replay. Writing them twice changes nothing.
 */
final class RollbackWriter implements DataWriter<InternalRow> {
  /** The attribute that `Scan.setRaw` sets; on the server a get is a scan of one row, with the same attributes. */
  private static final String RAW = "_raw_";
  private static final int ROWS_AT_A_TIME = 500;

  private final WriterId id;
  private final RollbackPlan plan;
  private final Table table;
  private final KafkaColumn kafkaColumn;
  private final RowKeyEncoder key;
  private final Map<ByteBuffer, Long> rows = new LinkedHashMap<>();
  private final RollbackAck ack;

  RollbackWriter(WriterId id, RollbackPlan plan, HBaseOptions options, StructType schema) throws IOException {
    this.id = id;
    this.plan = plan;
    this.table = HBaseConnections.shared(options).getTable(options.table());
    this.kafkaColumn = KafkaColumn.of(schema);
    // With one limit for all rows, the input already has the row keys.
    this.key = plan.limit() != null ? null : new RowKeyEncoder(options, Mapping.forWrite(options, schema).key());
    this.ack = new RollbackAck(id);
  }

  @Override
  public void write(InternalRow row) throws IOException {
    if (key == null) {
      rows.put(ByteBuffer.wrap(row.getBinary(0).clone()), plan.limit());
    } else {
      add(row);
    }
    if (rows.size() >= ROWS_AT_A_TIME) {
      flush();
    }
  }

  private void add(InternalRow row) {
    InternalRow kafka = kafkaColumn.read(row);
    Long limit = kafka == null ? null
        : plan.limitOf(KafkaColumn.topic(kafka).toString(), KafkaColumn.partition(kafka));
    if (limit == null) {
      throw new IllegalStateException("A row comes from a partition that is not part of the boundary");
    }
    try {
      rows.put(ByteBuffer.wrap(key.encode(row)), limit);
    } catch (BadRecordException e) {
      ack.passedOver(); // it has never been written either
    }
  }

  private void flush() throws IOException {
    if (rows.isEmpty()) {
      return;
    }
    List<Get> gets = new ArrayList<>();
    for (ByteBuffer row : rows.keySet()) {
      Get get = new Get(row.array()).readAllVersions();
      plan.families().keySet().forEach(family -> get.addFamily(family.getBytes(StandardCharsets.UTF_8)));
      get.setAttribute(RAW, Bytes.toBytes(true));
      gets.add(get);
    }
    Result[] found = table.get(gets);
    List<Row> actions = new ArrayList<>();
    int at = 0;
    for (Map.Entry<ByteBuffer, Long> each : rows.entrySet()) {
      Result result = found[at++];
      if (!result.isEmpty()) {
        undo(each.getKey().array(), new RowAtBoundary(plan, each.getValue()).columns(result.rawCells()), actions);
      }
    }
    if (plan.apply() && !actions.isEmpty()) {
      send(actions);
    }
    rows.clear();
  }

  private void undo(byte[] row, List<RowAtBoundary.Column> columns, List<Row> actions) {
    List<KeyValue> puts = new ArrayList<>();
    List<KeyValue> markers = new ArrayList<>();
    for (RowAtBoundary.Column column : columns) {
      if (column.outcome() == RowAtBoundary.Outcome.RESTORED) {
        puts.add(new KeyValue(row, column.family(), column.qualifier(), plan.putVersion(), KeyValue.Type.Put, column.value()));
      } else if (column.outcome() == RowAtBoundary.Outcome.REMOVED) {
        markers.add(new KeyValue(row, column.family(), column.qualifier(), plan.markerVersion(), KeyValue.Type.DeleteColumn));
      }
    }
    ack.found(row, columns);
    if (!puts.isEmpty() || !markers.isEmpty()) {
      actions.add(new RowChange(row, puts.toArray(RowChange.NONE), markers.toArray(RowChange.NONE)).action());
    }
  }

  private void send(List<Row> actions) throws IOException {
    Object[] results = new Object[actions.size()];
    try {
      table.batch(actions, results);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("The rollback was interrupted", e);
    }
  }

  @Override
  public WriterCommitMessage commit() throws IOException {
    flush();
    return ack;
  }

  /** Nothing to undo: what was written is written again, to the same cells. */
  @Override
  public void abort() {}

  @Override
  public void close() throws IOException {
    table.close();
  }
}
