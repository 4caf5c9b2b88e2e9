package io.milepost.hbase;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparator;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * What is known of one row inside one flush; equal to any other of the same row key.
 *
 * <p>A later version wins per column, and of equal versions the later arrival. A delete removes what its marker would
 * hide and stays. A put after a delete stays beside it, even at the delete's own version, where HBase hides it.
 * Where the server's clock makes the version, every cell of a request gets the same one, and a marker would hide a put
 * that came after it: such a put is sent later than its delete.
 * The cells of a mutation are in HBase's order, as {@link Mapping} makes them.
 */
final class FoldedRow {
  private static final CellComparator ORDER = CellComparator.getInstance();
  /** A mutation's own weight in memory and in a request, beside its cells. */
  private static final int MUTATION_OVERHEAD = 64;

  private final byte[] row;
  private final int hash;
  private Put put;
  private Delete delete;
  private long putBytes;
  private long deleteBytes;

  FoldedRow(byte[] row) {
    this.row = row;
    this.hash = Arrays.hashCode(row);
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FoldedRow that && hash == that.hash && Arrays.equals(row, that.row);
  }

  long bytes() {
    return putBytes + deleteBytes;
  }

  /** What is sent first. */
  Row action() {
    return delete == null ? put : put == null || isPutLater() ? delete : RowToMutation.both(delete, put);
  }

  /** What must get a later time of the server's clock than {@link #action}, or null. */
  Put later() {
    return isPutLater() ? put : null;
  }

  private boolean isPutLater() {
    return put != null && delete != null && isServerTime(put) && !visible(put, delete).equals(put.getFamilyCellMap());
  }

  /** True where the region server's clock makes the versions of these cells. */
  static boolean isServerTime(Mutation mutation) {
    List<Cell> cells = mutation.getFamilyCellMap().firstEntry().getValue();
    return cells.get(0).getTimestamp() == HConstants.LATEST_TIMESTAMP;
  }

  void fold(Put later) {
    put = put == null ? later : new Put(row, HConstants.LATEST_TIMESTAMP, merged(put, later));
    putBytes = size(put);
  }

  void fold(Delete later) {
    if (put != null) {
      NavigableMap<byte[], List<Cell>> left = visible(put, later);
      put = left.isEmpty() ? null : new Put(row, HConstants.LATEST_TIMESTAMP, left);
      putBytes = put == null ? 0 : size(put);
    }
    delete = delete == null ? later : new Delete(row, HConstants.LATEST_TIMESTAMP, merged(delete, later));
    deleteBytes = size(delete);
  }

  private static NavigableMap<byte[], List<Cell>> merged(Mutation earlier, Mutation later) {
    NavigableMap<byte[], List<Cell>> merged = new TreeMap<>(Bytes.BYTES_COMPARATOR);
    merged.putAll(earlier.getFamilyCellMap());
    later.getFamilyCellMap().forEach((family, cells) -> merged.merge(family, cells, FoldedRow::merged));
    return merged;
  }

  /** Both lists are in order of their columns, so one walk finds the columns they share. */
  private static List<Cell> merged(List<Cell> earlier, List<Cell> later) {
    List<Cell> merged = new ArrayList<>(earlier.size() + later.size());
    int i = 0;
    int j = 0;
    while (i < earlier.size() || j < later.size()) {
      int order = i == earlier.size() ? 1 : j == later.size() ? -1 : compare(earlier.get(i), later.get(j));
      if (order < 0) {
        merged.add(earlier.get(i++));
      } else if (order > 0) {
        merged.add(later.get(j++));
      } else {
        Cell old = earlier.get(i++);
        Cell fresh = later.get(j++);
        merged.add(fresh.getTimestamp() >= old.getTimestamp() ? fresh : old);
      }
    }
    return merged;
  }

  /** A marker of the whole family comes before any column's; a marker and a put are never compared with each other. */
  private static int compare(Cell a, Cell b) {
    int byKind = Boolean.compare(a.getType() != Cell.Type.DeleteFamily, b.getType() != Cell.Type.DeleteFamily);
    return byKind != 0 ? byKind : ORDER.compareQualifiers(a, b);
  }

  /** The cells of the put that the delete does not hide. */
  private static NavigableMap<byte[], List<Cell>> visible(Put put, Delete delete) {
    NavigableMap<byte[], List<Cell>> visible = new TreeMap<>(Bytes.BYTES_COMPARATOR);
    put.getFamilyCellMap().forEach((family, cells) -> {
      List<Cell> markers = delete.getFamilyCellMap().getOrDefault(family, List.of());
      List<Cell> left = cells.stream().filter(cell -> !isHidden(cell, markers)).toList();
      if (!left.isEmpty()) {
        visible.put(family, left);
      }
    });
    return visible;
  }

  private static boolean isHidden(Cell cell, List<Cell> markers) {
    for (Cell marker : markers) {
      if (marker.getTimestamp() >= cell.getTimestamp()
          && (marker.getType() == Cell.Type.DeleteFamily || CellUtil.matchingQualifier(marker, cell))) {
        return true;
      }
    }
    return false;
  }

  private static long size(Mutation mutation) {
    long size = MUTATION_OVERHEAD;
    for (List<Cell> cells : mutation.getFamilyCellMap().values()) {
      for (Cell cell : cells) {
        size += cell.getSerializedSize();
      }
    }
    return size;
  }
}
