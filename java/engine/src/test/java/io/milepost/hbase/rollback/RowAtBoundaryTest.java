package io.milepost.hbase.rollback;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;

class RowAtBoundaryTest {
  private static final long LIMIT = 100;
  private static final byte[] ROW = Bytes.toBytes("r");
  private static final byte[] D = Bytes.toBytes("d");

  private final List<Cell> cells = new ArrayList<>();
  private int versions = 3;
  private boolean keepsDeleted;

  private void put(String qualifier, long version, String value) {
    cells.add(new KeyValue(ROW, D, Bytes.toBytes(qualifier), version, KeyValue.Type.Put, Bytes.toBytes(value)));
  }

  private void marker(String qualifier, long version, KeyValue.Type type) {
    cells.add(new KeyValue(ROW, D, qualifier == null ? null : Bytes.toBytes(qualifier), version, type));
  }

  private List<RowAtBoundary.Column> columns() {
    RollbackPlan plan = new RollbackPlan("id", 1, true, LIMIT, Map.of(),
        Map.of("d", new RollbackPlan.Family(versions, keepsDeleted)));
    return new RowAtBoundary(plan, LIMIT).columns(cells.toArray(new Cell[0]));
  }

  private RowAtBoundary.Column only() {
    List<RowAtBoundary.Column> found = columns();
    assertEquals(1, found.size(), found.toString());
    return found.get(0);
  }

  @Test
  void anOlderValueIsBroughtBack() {
    put("n", 120, "new");
    put("n", 99, "old");
    put("n", 7, "older");
    assertEquals(RowAtBoundary.Outcome.RESTORED, only().outcome());
    assertArrayEquals(Bytes.toBytes("old"), only().value());
  }

  @Test
  void aValueThatIsTheSameStays() {
    put("n", 120, "same");
    put("n", 99, "same");
    assertEquals(RowAtBoundary.Outcome.SAME, only().outcome());
  }

  @Test
  void aRowThatCameLaterGoes() {
    put("n", 100, "new");
    assertEquals(RowAtBoundary.Outcome.REMOVED, only().outcome());
  }

  @Test
  void whatEnoughNewerVersionsMayHavePushedOutIsLost() {
    versions = 2;
    put("n", 102, "c");
    assertEquals(RowAtBoundary.Outcome.REMOVED, only().outcome());
    put("n", 101, "b");
    assertEquals(RowAtBoundary.Outcome.LOST, only().outcome());
  }

  @Test
  void aDeleteAfterTheBoundaryIsUndoneWhereTheValueIsStillThere() {
    marker(null, 150, KeyValue.Type.DeleteFamily);
    put("n", 99, "old");
    assertEquals(RowAtBoundary.Outcome.RESTORED, only().outcome());
  }

  @Test
  void aDeleteAfterTheBoundaryWhoseValueIsGoneIsLost() {
    marker(null, 150, KeyValue.Type.DeleteFamily);
    assertEquals(RowAtBoundary.Outcome.LOST, only().outcome());
    keepsDeleted = true;
    assertEquals(List.of(), columns());
  }

  @Test
  void aRowThatWasDeletedBeforeTheBoundaryGoesAgain() {
    put("n", 120, "new");
    marker(null, 50, KeyValue.Type.DeleteFamily);
    put("n", 40, "old");
    assertEquals(RowAtBoundary.Outcome.REMOVED, only().outcome());
  }

  @Test
  void columnMarkersHideUpToTheirVersionAndExactOnesOnlyTheirs() {
    put("a", 120, "new");
    marker("a", 90, KeyValue.Type.DeleteColumn);
    put("a", 95, "after the marker");
    put("b", 120, "new");
    marker("b", 95, KeyValue.Type.Delete);
    put("b", 95, "hidden");
    put("b", 94, "shows");
    assertArrayEquals(Bytes.toBytes("after the marker"), columns().get(0).value());
    assertArrayEquals(Bytes.toBytes("shows"), columns().get(1).value());
  }

  @Test
  void whatAnEarlierAttemptHasWrittenIsDone() {
    put("n", 120, "new");
    put("n", (1L << 48) + 1, "old");
    marker("m", 1L << 48, KeyValue.Type.DeleteColumn);
    put("m", 130, "new");
    assertEquals(List.of(RowAtBoundary.Outcome.SAME, RowAtBoundary.Outcome.SAME),
        columns().stream().map(RowAtBoundary.Column::outcome).toList());
  }

  @Test
  void aFamilyThatIsNotWrittenIsNotLookedAt() {
    cells.add(new KeyValue(ROW, Bytes.toBytes("other"), Bytes.toBytes("n"), 120, KeyValue.Type.Put, D));
    assertEquals(List.of(), columns());
  }
}
