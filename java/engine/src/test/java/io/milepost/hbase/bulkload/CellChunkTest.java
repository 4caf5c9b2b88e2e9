package io.milepost.hbase.bulkload;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Changes;
import io.milepost.hbase.mutation.RowChange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.hadoop.hbase.CellComparator;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;

class CellChunkTest {
  private final CellChunk chunk = new CellChunk(1 << 20);

  private List<String> drained() throws IOException {
    List<String> cells = new ArrayList<>();
    chunk.drainTo(row -> Arrays.stream(row).map(Changes::text).forEach(cells::add));
    return cells;
  }

  @Test
  void rowsComeInTheOrderOfTheirKeys() throws IOException {
    for (String row : new String[] {"order-2", "order-10", "order-1", "order-1\0", "order-100000000001", "order-100000000000"}) {
      chunk.add(Changes.put(row, 1, "d:v", "x"));
    }
    assertEquals(List.of("order-1/d:v@1=x", "order-1\0/d:v@1=x", "order-10/d:v@1=x", "order-100000000000/d:v@1=x",
        "order-100000000001/d:v@1=x", "order-2/d:v@1=x"), drained());
  }

  @Test
  void anyKeysAreSortedByTheirBytesWithoutSign() throws IOException {
    Random random = new Random(7);
    TreeMap<byte[], Long> expected = new TreeMap<>(Bytes.BYTES_COMPARATOR);
    for (long version = 1; version <= 20_000; version++) {
      byte[] row = new byte[1 + random.nextInt(12)];
      for (int i = 0; i < row.length; i++) {
        row[i] = (byte) (random.nextInt(5) * 60); // few values, so that keys share prefixes and come twice
      }
      expected.put(row, version);
      KeyValue[] puts = {new KeyValue(row, Bytes.toBytes("d"), Bytes.toBytes("v"), version, KeyValue.Type.Put, row)};
      chunk.add(new RowChange(row, puts, RowChange.NONE));
    }
    List<KeyValue> cells = new ArrayList<>();
    chunk.drainTo(row -> cells.addAll(Arrays.asList(row)));
    assertEquals(expected.size(), cells.size());
    int i = 0;
    for (Map.Entry<byte[], Long> each : expected.entrySet()) {
      KeyValue cell = cells.get(i++);
      assertArrayEquals(each.getKey(), Arrays.copyOfRange(cell.getRowArray(), cell.getRowOffset(),
          cell.getRowOffset() + cell.getRowLength()));
      assertEquals(each.getValue(), cell.getTimestamp());
    }
  }

  @Test
  void changesOfOneRowAreFoldedAsMutationsAre() throws IOException {
    chunk.add(Changes.put("b", 1, "d:v", "old", "d:w", "stays"));
    chunk.add(Changes.put("b", 3, "d:v", "new"));
    chunk.add(Changes.put("b", 2, "d:v", "late"));
    chunk.add(Changes.put("a", 4, "d:v", "gone"));
    chunk.add(Changes.delete("a", 5, "d", "e"));
    chunk.add(Changes.put("a", 6, "d:v", "again", "e:v", "too"));
    assertEquals(List.of("a/d:@5!", "a/d:v@6=again", "a/e:@5!", "a/e:v@6=too", "b/d:v@3=new", "b/d:w@1=stays"), drained());
  }

  @Test
  void ofEqualVersionsTheLaterArrivalStays() throws IOException {
    chunk.add(Changes.put("a", 1, "d:v", "first"));
    chunk.add(Changes.put("b", 1, "d:v", "other"));
    chunk.add(Changes.put("a", 1, "d:v", "second"));
    assertEquals(List.of("a/d:v@1=second", "b/d:v@1=other"), drained());
  }

  @Test
  void cellsAreInHBasesOrderWhateverTheMix() throws IOException {
    chunk.add(Changes.put("a", 1, "d:v", "x", "e:v", "y"));
    chunk.add(Changes.delete("a", 2, "d", "e"));
    chunk.add(Changes.put("a", 3, "e:v", "z", "e:a", "z"));
    List<KeyValue> cells = new ArrayList<>();
    chunk.drainTo(row -> cells.addAll(Arrays.asList(row)));
    for (int i = 1; i < cells.size(); i++) {
      assertTrue(CellComparator.getInstance().compare(cells.get(i - 1), cells.get(i)) < 0, cells.toString());
    }
    assertEquals(4, cells.size());
  }

  @Test
  void aFullChunkIsEmptyAgainAfterItWasDrained() throws IOException {
    String large = "x".repeat(700_000);
    chunk.add(Changes.put("b", 1, "d:v", large));
    assertFalse(chunk.isFull());
    chunk.add(Changes.put("a", 1, "d:v", large));
    assertTrue(chunk.isFull());
    assertEquals(List.of("a/d:v@1=" + large, "b/d:v@1=" + large), drained());
    assertTrue(chunk.isEmpty());
    assertFalse(chunk.isFull());
    chunk.add(Changes.put("c", 1, "d:v", "small"));
    assertEquals(List.of("c/d:v@1=small"), drained());
    assertEquals(List.of(), drained());
  }

  @Test
  void aRowMayBeLargerThanAPage() throws IOException {
    String huge = "x".repeat(3 << 20);
    chunk.add(Changes.put("a", 1, "d:v", huge, "d:w", huge));
    assertEquals(List.of("a/d:v@1=" + huge, "a/d:w@1=" + huge), drained());
  }
}
