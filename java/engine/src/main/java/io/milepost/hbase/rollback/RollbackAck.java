package io.milepost.hbase.rollback;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.sink.WriterAck;
import io.milepost.sink.WriterId;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.hbase.util.Bytes;

/** The acknowledgement of one writer of a rollback, with examples of the cells that cannot be restored. */
final class RollbackAck extends WriterAck {
  private static final long serialVersionUID = 1L;
  private static final int EXAMPLES = 10;

  private final EnumMap<RowAtBoundary.Outcome, Long> cells = new EnumMap<>(RowAtBoundary.Outcome.class);
  private final ArrayList<String> examples = new ArrayList<>();
  private long rows;
  private long passedOver;

  RollbackAck(WriterId id) {
    super(id);
  }

  void passedOver() {
    passedOver++;
  }

  void found(byte[] row, List<RowAtBoundary.Column> columns) {
    rows++;
    for (RowAtBoundary.Column column : columns) {
      cells.merge(column.outcome(), 1L, Long::sum);
      if (column.outcome() == RowAtBoundary.Outcome.LOST && examples.size() < EXAMPLES) {
        String qualifier = column.qualifier() == null ? " (deleted later)" : ":" + Bytes.toStringBinary(column.qualifier());
        examples.add(Bytes.toStringBinary(row) + " " + Bytes.toString(column.family()) + qualifier);
      }
    }
  }

  @Override
  protected void describe(ObjectNode json) {
    json.put("rows", rows);
    json.put("passed-over", passedOver);
    for (RowAtBoundary.Outcome outcome : RowAtBoundary.Outcome.values()) {
      json.put(outcome.name().toLowerCase(Locale.ROOT), cells.getOrDefault(outcome, 0L));
    }
    ArrayNode named = json.putArray("examples");
    examples.forEach(named::add);
  }
}
