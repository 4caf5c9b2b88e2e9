package io.milepost.hbase.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Rows;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.CheckAndMutateResult;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CasSenderTest {
  private static final String[] COLUMNS = {"columns", "{\"d\": [\"a\", \"b\"]}"};
  private static final String GUARD = "d:_milepost";

  /** Rows of columns, with HBase's rules for a checked mutation; at the server's time, so the last write of a cell stays. */
  private static final class FakeTable implements CasSender.Batch {
    final Map<String, Map<String, byte[]>> rows = new TreeMap<>();
    final List<Integer> calls = new ArrayList<>();
    Runnable afterFirstCall = () -> {};
    int failingCall = -1;

    @Override
    public void batch(List<? extends Row> actions, Object[] results) throws IOException {
      calls.add(actions.size());
      if (calls.size() - 1 == failingCall) {
        throw new IOException("the region server is gone");
      }
      for (int i = 0; i < results.length; i++) {
        results[i] = new CheckAndMutateResult(apply((CheckAndMutate) actions.get(i)), null);
      }
      if (calls.size() == 1) {
        afterFirstCall.run();
      }
    }

    private boolean apply(CheckAndMutate action) {
      Map<String, byte[]> row = rows.computeIfAbsent(Bytes.toString(action.getRow()), key -> new TreeMap<>());
      byte[] stored = row.get(Bytes.toString(action.getFamily()) + ":" + Bytes.toString(action.getQualifier()));
      boolean matches = action.getValue() == null ? stored == null
          : stored != null && holds(action.getCompareOp(), Bytes.compareTo(action.getValue(), stored));
      if (matches) {
        Row change = action.getAction();
        for (Mutation mutation : change instanceof RowMutations several ? several.getMutations() : List.of((Mutation) change)) {
          mutate(row, mutation);
        }
      }
      return matches;
    }

    private static boolean holds(CompareOperator operator, int order) {
      return operator == CompareOperator.GREATER ? order > 0 : operator == CompareOperator.GREATER_OR_EQUAL && order >= 0;
    }

    private static void mutate(Map<String, byte[]> row, Mutation mutation) {
      for (List<Cell> cells : mutation.getFamilyCellMap().values()) {
        for (Cell cell : cells) {
          assertEquals(HConstants.LATEST_TIMESTAMP, cell.getTimestamp(), "the server makes the time");
          String column = Bytes.toString(CellUtil.cloneFamily(cell)) + ":" + Bytes.toString(CellUtil.cloneQualifier(cell));
          if (mutation instanceof Put) {
            row.put(column, CellUtil.cloneValue(cell));
          } else {
            assertEquals(Cell.Type.DeleteColumn, cell.getType(), "a marker of the family would take the guard along");
            row.remove(column);
          }
        }
      }
    }

    Map<String, String> shown(String row) {
      Map<String, String> shown = new TreeMap<>();
      rows.get(row).forEach((column, value) ->
          shown.put(column, column.equals(GUARD) ? String.valueOf(Bytes.toLong(value)) : Bytes.toString(value)));
      return shown;
    }
  }

  private final FakeTable table = new FakeTable();

  private CasSender sender(String version) {
    return new CasSender(table, Rows.options(COLUMNS[0], COLUMNS[1], "version", version));
  }

  private static KeyValue put(String row, String column, long version, String value) {
    return new KeyValue(Bytes.toBytes(row), Bytes.toBytes("d"), Bytes.toBytes(column), version, KeyValue.Type.Put,
        Bytes.toBytes(value));
  }

  private static RowChange upsert(long version, String value) {
    return new RowChange(Bytes.toBytes("r"), new KeyValue[] {put("r", "a", version, value)}, RowChange.NONE);
  }

  private static RowChange delete(long version, KeyValue... later) {
    KeyValue marker = new KeyValue(Bytes.toBytes("r"), Bytes.toBytes("d"), null, version, KeyValue.Type.DeleteFamily);
    return new RowChange(Bytes.toBytes("r"), later, new KeyValue[] {marker});
  }

  private static void send(CasSender sender, RowChange... changes) throws Exception {
    for (RowChange change : changes) {
      Object[] results = new Object[1];
      sender.send(List.of(change), results);
      assertInstanceOf(CheckAndMutateResult.class, results[0]);
    }
  }

  @Test
  void onlyANewerChangeIsTaken() throws Exception {
    CasSender sender = sender("offset");
    send(sender, upsert(300, "three hundred"), upsert(5, "five"), upsert(300, "the same again"));
    assertEquals(Map.of("d:a", "three hundred", GUARD, "300"), table.shown("r"));
    assertEquals(2, sender.superseded());
    send(sender, upsert(301, "next"));
    assertEquals(Map.of("d:a", "next", GUARD, "301"), table.shown("r"));
    assertEquals(2, sender.superseded());
  }

  /** Two records may have one timestamp: the later one is the newer. An offset belongs to one record. */
  @ParameterizedTest
  @CsvSource({"offset, first", "timestamp, second", "checkpoint, second", "column:n, second"})
  void ofEqualVersionsTheLaterArrivalWinsWhereTheyMayTie(String version, String winner) throws Exception {
    send(sender(version), upsert(7, "first"), upsert(7, "second"));
    assertEquals(winner, table.shown("r").get("d:a"));
  }

  @Test
  void aDeleteLeavesTheGuardSoThatAnOlderPutStaysOut() throws Exception {
    CasSender sender = sender("offset");
    send(sender, upsert(90, "v"), delete(100), upsert(90, "v"));
    assertEquals(Map.of(GUARD, "100"), table.shown("r"));
    assertEquals(1, sender.superseded());
  }

  @Test
  void aPutAfterADeleteInOneFlushShowsAndNothingOlderDoes() throws Exception {
    RowChange both = new RowChange(Bytes.toBytes("r"),
        new KeyValue[] {put("r", "a", 1, "old"), put("r", "b", 1, "old")}, RowChange.NONE);
    send(sender("offset"), both, delete(2, put("r", "b", 3, "new")));
    assertEquals(Map.of("d:b", "new", GUARD, "3"), table.shown("r"));
  }

  @Test
  void aPutOlderThanADeleteOfItsFlushStaysOut() throws Exception {
    send(sender("column:n"), delete(9, put("r", "a", 8, "older"), put("r", "b", 9, "tied")));
    assertEquals(Map.of("d:b", "tied", GUARD, "9"), table.shown("r"));
  }

  @Test
  void aFirstGuardThatSomebodyElseWroteInBetweenIsComparedToo() throws Exception {
    table.afterFirstCall = () -> table.rows.put("r",
        new TreeMap<>(Map.of("d:a", Bytes.toBytes("zombie"), GUARD, Bytes.toBytes(3L))));
    CasSender sender = sender("offset");
    send(sender, upsert(4, "newer"));
    assertEquals(Map.of("d:a", "newer", GUARD, "4"), table.shown("r"));
    assertEquals(0, sender.superseded());
  }

  @Test
  void aRoundThatFailsLeavesNoAnswerBehind() {
    table.failingCall = 1;
    Object[] results = new Object[1];
    assertThrows(IOException.class, () -> sender("offset").send(List.of(upsert(1, "v")), results));
    assertNull(results[0]);
  }

  @Test
  void onlyWhatWasRefusedIsAskedAgain() throws Exception {
    CasSender sender = sender("offset");
    List<RowChange> changes = List.of(upsert(1, "v"),
        new RowChange(Bytes.toBytes("s"), new KeyValue[] {put("s", "a", 2, "v")}, RowChange.NONE));
    sender.send(changes, new Object[2]);
    sender.send(List.of(upsert(3, "w"), changes.get(1)), new Object[2]);
    assertEquals(List.of(2, 2, 2, 1, 1), table.calls);
    assertEquals(1, sender.superseded());
  }

  @Test
  void whatCannotBeGuardedIsRefused() {
    String time = assertThrows(IllegalArgumentException.class,
        () -> CasSender.check(Rows.options("guard", "cas", "version", "server-time"))).getMessage();
    assertTrue(time.startsWith("Option 'guard' cannot be 'cas'"), time);
    String column = assertThrows(IllegalArgumentException.class,
        () -> CasSender.check(Rows.options("guard", "cas", "columns", "{\"e\": [\"v\"], \"d\": {\"_milepost\": \"v\"}}")))
        .getMessage();
    assertTrue(column.contains("'d:_milepost'"), column);
    CasSender.check(Rows.options("guard", "cas", "columns", "{\"d\": [\"v\"], \"e\": {\"_milepost\": \"v\"}}"));
  }
}
