package io.milepost.hbase;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;

/**
 * The mutations of one flush, folded by row and column. Not thread safe.
 *
 * <p>One request is enough for them, unless the server's clock makes the versions and a row has a put after a delete.
 *
 * <p>What is sent shows the same as what was added would have shown, wherever a flush cuts the stream: the fold follows
 * HBase's own rules for versions and delete markers, and so does a row that is spread over two flushes.
 */
final class MutationBuffer {
  private final Map<FoldedRow, FoldedRow> rows = new HashMap<>();
  private final int maxRows;
  private final long maxBytes;
  private long bytes;
  private boolean marking;

  MutationBuffer(int maxRows, long maxBytes) {
    this.maxRows = maxRows;
    this.maxBytes = maxBytes;
  }

  void add(Row action) {
    FoldedRow fresh = new FoldedRow(action.getRow());
    FoldedRow known = rows.putIfAbsent(fresh, fresh);
    FoldedRow row = known == null ? fresh : known;
    bytes -= row.bytes();
    if (action instanceof RowMutations several) {
      for (Mutation mutation : several.getMutations()) {
        fold(row, mutation);
      }
    } else {
      fold(row, (Mutation) action);
    }
    bytes += row.bytes();
  }

  private void fold(FoldedRow row, Mutation mutation) {
    if (mutation instanceof Put put) {
      row.fold(put);
    } else {
      row.fold((Delete) mutation);
      marking |= FoldedRow.isServerTime(mutation);
    }
  }

  boolean isEmpty() {
    return rows.isEmpty();
  }

  boolean isFull() {
    return rows.size() >= maxRows || bytes >= maxBytes;
  }

  long bytes() {
    return bytes;
  }

  /** True where a put that follows must not get the same time of the server's clock as the markers in here. */
  boolean isMarking() {
    return marking;
  }

  /** What must be sent after {@link #actions}, at a later time of the server's clock; mostly nothing. */
  List<Row> laterActions() {
    List<Row> later = new ArrayList<>();
    if (marking) {
      for (FoldedRow row : rows.keySet()) {
        if (row.later() != null) {
          later.add(row.later());
        }
      }
    }
    return later;
  }

  /** One action per row; a row with both a delete and a put is sent as one, so that no reader sees it half done. */
  List<Row> actions() {
    List<Row> actions = new ArrayList<>(rows.size());
    for (FoldedRow row : rows.keySet()) {
      actions.add(row.action());
    }
    return actions;
  }
}
