package io.milepost.hbase.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Rows;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;

class MutationBufferTest {
  private static final byte[] FAMILY = Bytes.toBytes("d");
  /** What a client writes for "the time of the server". */
  private static final long NOW = Long.MAX_VALUE;

  private static Put put(String row, long version, String... columnsAndValues) {
    Put put = new Put(Bytes.toBytes(row));
    for (int i = 0; i < columnsAndValues.length; i += 2) {
      put.addColumn(FAMILY, Bytes.toBytes(columnsAndValues[i]), version, Bytes.toBytes(columnsAndValues[i + 1]));
    }
    return put;
  }

  private static Delete deleteRow(String row, long version) {
    return new Delete(Bytes.toBytes(row)).addFamily(FAMILY, version);
  }

  private static Delete deleteColumns(String row, long version, String... columns) {
    Delete delete = new Delete(Bytes.toBytes(row));
    for (String column : columns) {
      delete.addColumns(FAMILY, Bytes.toBytes(column), version);
    }
    return delete;
  }

  private static void add(MutationBuffer buffer, Row action) {
    buffer.add(Rows.change(action));
  }

  private static List<Row> actions(MutationBuffer buffer) {
    return buffer.changes().stream().map(RowChange::action).toList();
  }

  private static List<Row> laterActions(MutationBuffer buffer) {
    return buffer.laterChanges().stream().map(RowChange::action).toList();
  }

  private static List<Row> fold(Row... mutations) {
    MutationBuffer buffer = new MutationBuffer(10_000, Long.MAX_VALUE);
    for (Row mutation : mutations) {
      add(buffer, mutation);
    }
    return actions(buffer);
  }

  private static List<Mutation> mutations(Row action) {
    return action instanceof RowMutations several ? several.getMutations() : List.of((Mutation) action);
  }

  private static String text(Row action) {
    List<String> texts = new ArrayList<>();
    for (Mutation mutation : mutations(action)) {
      for (List<Cell> cells : mutation.getFamilyCellMap().values()) {
        for (Cell cell : cells) {
          texts.add(cell.getType() + " " + Bytes.toString(CellUtil.cloneQualifier(cell)) + "@" + cell.getTimestamp() + "="
              + Bytes.toString(CellUtil.cloneValue(cell)));
        }
      }
    }
    return String.join(", ", texts);
  }

  @Test
  void partialPutsAreFoldedByColumn() {
    List<Row> actions = fold(put("r", 10, "a", "1", "b", "1"), put("r", 11, "b", "2", "c", "2"));
    assertEquals(1, actions.size());
    assertEquals("Put a@10=1, Put b@11=2, Put c@11=2", text(actions.get(0)));
  }

  @Test
  void differentRowsStayApart() {
    assertEquals(2, fold(put("r", 10, "a", "1"), put("s", 11, "a", "2")).size());
  }

  @Test
  void aLaterVersionWinsWhateverTheOrder() {
    assertEquals("Put a@11=new", text(fold(put("r", 11, "a", "new"), put("r", 10, "a", "old")).get(0)));
  }

  @Test
  void ofEqualVersionsTheLaterArrivalWins() {
    assertEquals("Put a@7=2", text(fold(put("r", 7, "a", "1"), put("r", 7, "a", "2")).get(0)));
  }

  @Test
  void aDeleteClearsWhatCameBeforeAndStays() {
    Row action = fold(put("r", 10, "a", "1", "b", "1"), deleteRow("r", 11)).get(0);
    assertInstanceOf(Delete.class, action);
    assertEquals("DeleteFamily @11=", text(action));
  }

  @Test
  void aDeleteOfColumnsClearsOnlyThese() {
    Row action = fold(put("r", 10, "a", "1", "b", "1"), deleteColumns("r", 11, "b")).get(0);
    assertEquals("DeleteColumn b@11=, Put a@10=1", text(action));
  }

  @Test
  void aPutAfterADeleteKeepsBoth() {
    Row action = fold(deleteRow("r", 10), put("r", 11, "a", "1")).get(0);
    RowMutations both = assertInstanceOf(RowMutations.class, action);
    assertEquals(2, both.getMutations().size());
    assertEquals("DeleteFamily @10=, Put a@11=1", text(action));
  }

  @Test
  void putDeletePutKeepsTheDeleteAndTheLastPut() {
    Row action = fold(put("r", 10, "a", "1", "b", "1"), deleteRow("r", 11), put("r", 12, "a", "2")).get(0);
    assertEquals("DeleteFamily @11=, Put a@12=2", text(action));
  }

  @Test
  void anOlderDeleteSparesNewerCells() {
    assertEquals("DeleteFamily @11=, Put a@12=1", text(fold(put("r", 12, "a", "1"), deleteRow("r", 11)).get(0)));
  }

  @Test
  void theNewestDeleteStays() {
    assertEquals("DeleteFamily @12=", text(fold(deleteRow("r", 12), deleteRow("r", 11)).get(0)));
    assertEquals("DeleteFamily @5=, DeleteColumn a@9=, DeleteColumn b@8=",
        text(fold(deleteColumns("r", 7, "a", "b"), deleteRow("r", 5), deleteColumns("r", 9, "a"), deleteColumns("r", 8, "b"))
            .get(0)));
  }

  @Test
  void aThousandUpdatesOfOneKeyAreOnePut() {
    MutationBuffer buffer = new MutationBuffer(10_000, Long.MAX_VALUE);
    for (int i = 0; i < 1000; i++) {
      add(buffer, put("r", i, "a", "value " + i));
    }
    assertEquals("Put a@999=value 999", text(actions(buffer).get(0)));
    MutationBuffer single = new MutationBuffer(10_000, Long.MAX_VALUE);
    add(single, put("r", 999, "a", "value 999"));
    assertEquals(single.bytes(), buffer.bytes(), "the folded updates no longer count");
  }

  @Test
  void everyRowOfALargeFlushIsThereOnceAndInOrder() {
    MutationBuffer buffer = new MutationBuffer(100_000, Long.MAX_VALUE);
    for (int i = 0; i < 20_000; i++) {
      add(buffer, put("row" + (1000 + i % 7000), i, "a", "value " + i));
    }
    assertEquals(IntStream.range(0, 7000).map(i -> i + (i < 6000 ? 14_000 : 7000))
        .mapToObj(last -> "Put a@" + last + "=value " + last).toList(), actions(buffer).stream().map(MutationBufferTest::text).toList());
  }

  @Test
  void fullnessIsByRowsAndByBytes() {
    MutationBuffer byRows = new MutationBuffer(2, Long.MAX_VALUE);
    add(byRows, put("r", 1, "a", "1"));
    add(byRows, put("r", 2, "a", "1"));
    assertFalse(byRows.isFull());
    add(byRows, put("s", 3, "a", "1"));
    assertTrue(byRows.isFull());
    MutationBuffer byBytes = new MutationBuffer(100, 500);
    add(byBytes, put("r", 1, "a", "x".repeat(500)));
    assertTrue(byBytes.isFull());
  }

  /** Whatever arrives, and wherever flushes cut it, a reader of the table sees the same as without folding. */
  @Test
  void foldingNeverChangesWhatIsSeen() {
    for (int seed = 0; seed < 3000; seed++) {
      Random random = new Random(seed);
      List<Row> arrived = new ArrayList<>();
      for (int i = random.nextInt(12); i >= 0; i--) {
        arrived.add(anyMutation(random));
      }
      List<Row> sent = new ArrayList<>();
      for (int from = 0; from < arrived.size(); ) {
        int to = from + 1 + random.nextInt(arrived.size() - from);
        sent.addAll(fold(arrived.subList(from, to).toArray(new Row[0])));
        from = to;
      }
      assertEquals(visible(arrived), visible(sent), "seed " + seed + ": " + arrived.stream().map(MutationBufferTest::text).toList());
    }
  }

  @Test
  void atTheServersTimeAPutAfterADeleteIsSentLater() {
    MutationBuffer buffer = new MutationBuffer(10, Long.MAX_VALUE);
    add(buffer, put("r", NOW, "a", "0", "b", "0"));
    add(buffer, deleteRow("r", NOW));
    add(buffer, put("r", NOW, "a", "1"));
    assertEquals(List.of("DeleteFamily @" + NOW + "="), actions(buffer).stream().map(MutationBufferTest::text).toList());
    assertEquals(List.of("Put a@" + NOW + "=1"), laterActions(buffer).stream().map(MutationBufferTest::text).toList());
    assertTrue(buffer.isMarking());
  }

  @Test
  void atTheServersTimeWhatDoesNotCollideIsOneAction() {
    MutationBuffer buffer = new MutationBuffer(10, Long.MAX_VALUE);
    add(buffer, Rows.both(deleteColumns("r", NOW, "b"), put("r", NOW, "a", "1")));
    assertEquals(List.of("DeleteColumn b@" + NOW + "=, Put a@" + NOW + "=1"),
        actions(buffer).stream().map(MutationBufferTest::text).toList());
    assertEquals(List.of(), laterActions(buffer));
  }

  @Test
  void versionsOfTheirOwnAreNeverSplit() {
    MutationBuffer buffer = new MutationBuffer(10, Long.MAX_VALUE);
    add(buffer, deleteRow("r", 7));
    add(buffer, put("r", 7, "a", "1"));
    assertFalse(buffer.isMarking());
    assertEquals(List.of(), laterActions(buffer));
    assertInstanceOf(RowMutations.class, actions(buffer).get(0));
  }

  /** The server gives one number to all cells of a request; the records' own order must be seen nevertheless. */
  @Test
  void atTheServersTimeTheLastRecordWins() {
    for (int seed = 0; seed < 3000; seed++) {
      Random random = new Random(seed);
      List<Row> arrived = new ArrayList<>();
      for (int i = random.nextInt(12); i >= 0; i--) {
        arrived.add(anyMutation(random, NOW));
      }
      List<Row> stamped = new ArrayList<>();
      long tick = 1;
      for (int from = 0; from < arrived.size(); ) {
        int to = from + 1 + random.nextInt(arrived.size() - from);
        MutationBuffer buffer = new MutationBuffer(10_000, Long.MAX_VALUE);
        arrived.subList(from, to).forEach(action -> add(buffer, action));
        for (Row action : actions(buffer)) {
          stamped.addAll(stamped(action, tick));
        }
        tick += buffer.isMarking() ? 1 : 0; // without a marker the next request may fall into the same millisecond
        for (Row action : laterActions(buffer)) {
          stamped.addAll(stamped(action, tick));
        }
        from = to;
      }
      assertEquals(inOrder(arrived), values(visible(stamped)),
          "seed " + seed + ": " + arrived.stream().map(MutationBufferTest::text).toList());
    }
  }

  /** The action with the time that the server gives it. */
  private static List<Mutation> stamped(Row action, long tick) {
    List<Mutation> stamped = new ArrayList<>();
    for (Mutation mutation : mutations(action)) {
      Mutation copy = mutation instanceof Put ? new Put(mutation.getRow()) : new Delete(mutation.getRow());
      for (Cell cell : mutation.getFamilyCellMap().get(FAMILY)) {
        if (copy instanceof Put put) {
          put.addColumn(FAMILY, CellUtil.cloneQualifier(cell), tick, CellUtil.cloneValue(cell));
        } else if (cell.getType() == Cell.Type.DeleteFamily) {
          ((Delete) copy).addFamily(FAMILY, tick);
        } else {
          ((Delete) copy).addColumns(FAMILY, CellUtil.cloneQualifier(cell), tick);
        }
      }
      stamped.add(copy);
    }
    return stamped;
  }

  /** The table after one record after the other. */
  private static Map<String, String> inOrder(List<Row> actions) {
    Map<String, String> table = new TreeMap<>();
    for (Row action : actions) {
      for (Mutation mutation : mutations(action)) {
        for (Cell cell : mutation.getFamilyCellMap().get(FAMILY)) {
          String column = Bytes.toString(mutation.getRow()) + "/" + Bytes.toString(CellUtil.cloneQualifier(cell));
          switch (cell.getType()) {
            case Put -> table.put(column, Bytes.toString(CellUtil.cloneValue(cell)));
            case DeleteFamily -> table.keySet().removeIf(name -> name.startsWith(column));
            default -> table.remove(column);
          }
        }
      }
    }
    return table;
  }

  private static Map<String, String> values(Map<String, String> visible) {
    Map<String, String> values = new TreeMap<>();
    visible.forEach((column, versionAndValue) -> values.put(column, versionAndValue.split("=", 2)[1]));
    return values;
  }

  private static Row anyMutation(Random random) {
    return anyMutation(random, random.nextInt(6));
  }

  private static Row anyMutation(Random random, long version) {
    String row = random.nextBoolean() ? "r" : "s";
    return switch (random.nextInt(6)) {
      case 0 -> deleteRow(row, version);
      case 1 -> deleteColumns(row, version, "a", "c");
      case 2 -> put(row, version, "a", "" + random.nextInt(100));
      case 3 -> put(row, version, "b", "" + random.nextInt(100), "c", "" + random.nextInt(100));
      case 4 -> Rows.both(deleteColumns(row, version, "b"), put(row, version, "a", "" + random.nextInt(100)));
      default -> put(row, version, "a", "x", "b", "y", "c", "" + random.nextInt(100));
    };
  }

  /** HBase in a few lines: of a column's cells the newest that no marker of the same or a later version hides. */
  private static Map<String, String> visible(List<Row> actions) {
    Map<String, TreeMap<Long, String>> cells = new TreeMap<>();
    Map<String, Long> hidden = new TreeMap<>();
    for (Row action : actions) {
      for (Mutation mutation : mutations(action)) {
        for (Cell cell : mutation.getFamilyCellMap().get(FAMILY)) {
          String row = Bytes.toString(mutation.getRow());
          String column = row + "/" + Bytes.toString(CellUtil.cloneQualifier(cell));
          if (cell.getType() == Cell.Type.Put) {
            cells.computeIfAbsent(column, name -> new TreeMap<>())
                .put(cell.getTimestamp(), Bytes.toString(CellUtil.cloneValue(cell)));
          } else {
            hidden.merge(cell.getType() == Cell.Type.DeleteFamily ? row : column, cell.getTimestamp(), Math::max);
          }
        }
      }
    }
    Map<String, String> visible = new TreeMap<>();
    cells.forEach((column, versions) -> {
      long marker = Math.max(hidden.getOrDefault(column, -1L), hidden.getOrDefault(column.substring(0, 1), -1L));
      if (versions.lastKey() > marker) {
        visible.put(column, versions.lastEntry().toString());
      }
    });
    return visible;
  }
}
