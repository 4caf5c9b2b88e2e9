package io.milepost.hbase.bulkload;

import io.milepost.hbase.mutation.RowChange;
import io.milepost.hbase.mutation.RowFold;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.hbase.CellComparator;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.unsafe.array.LongArray;
import org.apache.spark.unsafe.memory.MemoryBlock;
import org.apache.spark.util.collection.unsafe.sort.RadixSort;

/**
 * Changes of rows, kept as bytes in a few large pages and returned in the order of their row keys. Not thread safe.
 *
 * <p>A row costs its bytes plus 40, and no object: a chunk lives too long for a copying garbage collector. Rows are
 * sorted by the eight bytes after the common prefix of all row keys, and by the rest only where these are equal.
 */
final class CellChunk {
  /** A megabyte including the array header: a larger array takes up two regions of the collector. */
  private static final int PAGE_BYTES = (1 << 20) - 64;
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  /** The length in bytes that precedes the cells of a row. */
  private static final int HEADER = Bytes.SIZEOF_INT;
  /** From the start of a row to its key: the header, and what precedes the key in a cell. */
  private static final int KEY_LENGTH_AT = HEADER + KeyValue.ROW_OFFSET;
  private static final int KEY_AT = KEY_LENGTH_AT + Bytes.SIZEOF_SHORT;
  /** Per row: its pointer and its prefix, and the same again as work space for the sort. */
  private static final int INDEX_WIDTH = 4;

  /** Takes rows in order. */
  @FunctionalInterface
  interface RowSink {
    /** The cells of one row, in HBase's order. */
    void accept(KeyValue[] cells) throws IOException;
  }

  private final long maxBytes;
  private final List<byte[]> pages = new ArrayList<>();
  private long[] pointers = new long[1024];
  private int rows;
  private int page;
  private int position;
  private long bytes;

  CellChunk(long maxBytes) {
    this.maxBytes = maxBytes;
  }

  boolean isEmpty() {
    return rows == 0;
  }

  /** True when there is no room for more rows of average size. */
  boolean isFull() {
    return bytes >= maxBytes;
  }

  void add(RowChange change) {
    KeyValue[] cells = cells(change);
    int length = 0;
    for (KeyValue cell : cells) {
      length += cell.getLength();
    }
    byte[] target = room(HEADER + length);
    if (rows == pointers.length) {
      pointers = Arrays.copyOf(pointers, 2 * rows);
    }
    pointers[rows++] = (long) page << Integer.SIZE | position;
    Bytes.putInt(target, position, length);
    position += HEADER;
    for (KeyValue cell : cells) {
      System.arraycopy(cell.getBuffer(), cell.getOffset(), target, position, cell.getLength());
      position += cell.getLength();
    }
    bytes += HEADER + length;
  }

  /** Removes the rows and keeps the memory. */
  void clear() {
    rows = 0;
    page = 0;
    position = 0;
    bytes = 0;
  }

  /** Passes on every row once, in the order of the row keys; changes of one row are folded as mutations are. */
  void drainTo(RowSink sink) throws IOException {
    long[] order = sorted();
    for (int i = 0; i < rows; ) {
      long first = order[i++];
      if (i == rows || compareKeys(first, order[i]) != 0) {
        sink.accept(cellsAt(first));
        continue;
      }
      RowChange folded = changeAt(first);
      while (i < rows && compareKeys(first, order[i]) == 0) {
        folded = RowFold.fold(folded, changeAt(order[i++]));
      }
      sink.accept(cells(folded));
    }
    clear();
  }

  /** The cells of a change in HBase's order: markers are among the puts of their family. */
  private static KeyValue[] cells(RowChange change) {
    if (!change.hasMarkers() || !change.hasPuts()) {
      return change.hasMarkers() ? change.markers() : change.puts();
    }
    KeyValue[] cells = Arrays.copyOf(change.markers(), change.markers().length + change.puts().length);
    System.arraycopy(change.puts(), 0, cells, change.markers().length, change.puts().length);
    Arrays.sort(cells, CellComparator.getInstance());
    return cells;
  }

  /** The page with room for this many bytes at {@link #position}. */
  private byte[] room(int wanted) {
    while (page < pages.size() && pages.get(page).length - position < wanted) {
      page++;
      position = 0;
    }
    if (page == pages.size()) {
      pages.add(new byte[Math.max(PAGE_BYTES, wanted)]);
    }
    return pages.get(page);
  }

  /** Pointers to the rows in the order of their keys; rows with the same key keep the order of arrival. */
  private long[] sorted() {
    int common = commonPrefix();
    long[] index = new long[INDEX_WIDTH * rows];
    for (int i = 0; i < rows; i++) {
      index[2 * i] = pointers[i];
      index[2 * i + 1] = prefix(pointers[i], common);
    }
    int from = rows == 0 ? 0 : RadixSort.sortKeyPrefixArray(new LongArray(MemoryBlock.fromLongArray(index)), 0, rows, 0,
        Long.BYTES - 1, false, false);
    long[] order = new long[rows];
    int run = 0;
    for (int i = 0; i < rows; i++) {
      order[i] = index[from + 2 * i];
      if (i + 1 == rows || index[from + 2 * i + 1] != index[from + 2 * i + 3]) {
        sortRun(order, run, i + 1);
        run = i + 1;
      }
    }
    return order;
  }

  /** Sorts rows with the same prefix by their full keys; usually there is one row, or they are in order already. */
  private void sortRun(long[] order, int from, int to) {
    for (int i = from + 1; i < to; i++) {
      if (compareKeys(order[i - 1], order[i]) > 0) {
        Long[] run = Arrays.stream(order, from, to).boxed().toArray(Long[]::new);
        Arrays.sort(run, this::compareKeys);
        for (int j = 0; j < run.length; j++) {
          order[from + j] = run[j];
        }
        return;
      }
    }
  }

  private int commonPrefix() {
    if (rows == 0) {
      return 0;
    }
    byte[] first = pageOf(pointers[0]);
    int from = keyAt(pointers[0]);
    int common = keyLength(pointers[0]);
    for (int i = 1; i < rows && common > 0; i++) {
      int length = Math.min(common, keyLength(pointers[i]));
      int at = keyAt(pointers[i]);
      int mismatch = Arrays.mismatch(first, from, from + length, pageOf(pointers[i]), at, at + length);
      common = mismatch < 0 ? length : mismatch;
    }
    return common;
  }

  /** Eight bytes of the key, padded with zeros. */
  private long prefix(long pointer, int skip) {
    byte[] bytes = pageOf(pointer);
    int from = keyAt(pointer) + skip;
    int left = keyLength(pointer) - skip;
    if (left >= Long.BYTES) {
      return (long) LONG.get(bytes, from);
    }
    long prefix = 0;
    for (int i = 0; i < left; i++) {
      prefix |= (bytes[from + i] & 0xFFL) << Long.SIZE - Byte.SIZE * (i + 1);
    }
    return prefix;
  }

  private int compareKeys(long a, long b) {
    int left = keyAt(a);
    int right = keyAt(b);
    return Arrays.compareUnsigned(pageOf(a), left, left + keyLength(a), pageOf(b), right, right + keyLength(b));
  }

  private KeyValue[] cellsAt(long pointer) {
    byte[] bytes = pageOf(pointer);
    int at = (int) pointer + HEADER;
    int end = at + Bytes.toInt(bytes, (int) pointer);
    int count = 0;
    for (int i = at; i < end; i += length(bytes, i)) {
      count++;
    }
    KeyValue[] cells = new KeyValue[count];
    for (int i = 0; i < count; i++) {
      int length = length(bytes, at);
      cells[i] = new KeyValue(bytes, at, length);
      at += length;
    }
    return cells;
  }

  private RowChange changeAt(long pointer) {
    KeyValue[] cells = cellsAt(pointer);
    KeyValue[] puts = Arrays.stream(cells).filter(CellUtil::isPut).toArray(KeyValue[]::new);
    KeyValue[] markers = Arrays.stream(cells).filter(CellUtil::isDelete).toArray(KeyValue[]::new);
    byte[] row = Arrays.copyOfRange(pageOf(pointer), keyAt(pointer), keyAt(pointer) + keyLength(pointer));
    return new RowChange(row, puts, markers);
  }

  private static int length(byte[] bytes, int cell) {
    return KeyValue.KEYVALUE_INFRASTRUCTURE_SIZE + Bytes.toInt(bytes, cell) + Bytes.toInt(bytes, cell + Bytes.SIZEOF_INT);
  }

  private byte[] pageOf(long pointer) {
    return pages.get((int) (pointer >>> Integer.SIZE));
  }

  private static int keyAt(long pointer) {
    return (int) pointer + KEY_AT;
  }

  private int keyLength(long pointer) {
    return Bytes.toShort(pageOf(pointer), (int) pointer + KEY_LENGTH_AT);
  }
}
