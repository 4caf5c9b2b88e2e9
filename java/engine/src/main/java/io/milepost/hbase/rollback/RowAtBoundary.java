package io.milepost.hbase.rollback;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Decides, from the raw cells of one row, what it was at a boundary and whether that is certain. Pure.
 *
 * <p>A cell or marker with a version of at least `limit` was written after the boundary. HBase prunes the oldest
 * versions first, so a put from before the boundary that is still stored is the newest of them. Where none is stored,
 * there was none, unless HBase may have removed it: enough newer versions push it out, and a newer marker lets it
 * expire.
 */
final class RowAtBoundary {
  enum Outcome { SAME, RESTORED, REMOVED, LOST }

  /**
   * `value` is the value to restore, null where there is none; the qualifier is null where it concerns a whole
   * family.
   */
  record Column(byte[] family, byte[] qualifier, Outcome outcome, byte[] value) {}

  private final RollbackPlan plan;
  private final long limit;

  RowAtBoundary(RollbackPlan plan, long limit) {
    this.plan = plan;
    this.limit = limit;
  }

  List<Column> columns(Cell[] cells) {
    Map<byte[], List<Cell>> families = new TreeMap<>(Bytes.BYTES_COMPARATOR);
    for (Cell cell : cells) {
      families.computeIfAbsent(CellUtil.cloneFamily(cell), key -> new ArrayList<>()).add(cell);
    }
    List<Column> found = new ArrayList<>();
    families.forEach((family, inside) -> {
      RollbackPlan.Family keeps = plan.families().get(Bytes.toString(family));
      if (keeps != null) {
        ofFamily(family, inside, keeps, found);
      }
    });
    return found;
  }

  private void ofFamily(byte[] family, List<Cell> cells, RollbackPlan.Family keeps, List<Column> found) {
    List<Cell> wide = new ArrayList<>();
    Map<byte[], List<Cell>> columns = new TreeMap<>(Bytes.BYTES_COMPARATOR);
    for (Cell cell : cells) {
      if (isWide(cell)) {
        wide.add(cell);
      } else {
        columns.computeIfAbsent(CellUtil.cloneQualifier(cell), key -> new ArrayList<>()).add(cell);
      }
    }
    columns.forEach((qualifier, inside) -> found.add(ofColumn(family, qualifier, inside, wide, keeps)));
    boolean deleted = wide.stream().anyMatch(this::isNewer);
    boolean known = cells.stream().anyMatch(cell -> !isNewer(cell) || plan.isOurs(cell.getTimestamp()));
    if (deleted && !known && !keeps.keepsDeleted()) {
      // The row was deleted after the boundary, and its earlier state is unknown.
      found.add(new Column(family, null, Outcome.LOST, null));
    }
  }

  private Column ofColumn(byte[] family, byte[] qualifier, List<Cell> cells, List<Cell> wide, RollbackPlan.Family keeps) {
    if (cells.stream().anyMatch(cell -> plan.isOurs(cell.getTimestamp()))) {
      return new Column(family, qualifier, Outcome.SAME, null); // done by an interrupted rollback
    }
    byte[] then = visible(cells.stream().filter(cell -> !isNewer(cell)).toList(),
        wide.stream().filter(cell -> !isNewer(cell)).toList());
    byte[] now = visible(cells, wide);
    if (then == null ? now == null : now != null && Arrays.equals(then, now)) {
      return new Column(family, qualifier, Outcome.SAME, null);
    }
    if (then != null) {
      return new Column(family, qualifier, Outcome.RESTORED, then);
    }
    long newer = cells.stream().filter(cell -> cell.getType() == Cell.Type.Put && isNewer(cell)).count();
    boolean deleted = cells.stream().anyMatch(cell -> cell.getType() != Cell.Type.Put && isNewer(cell))
        || wide.stream().anyMatch(this::isNewer);
    boolean mayHaveGone = newer >= keeps.versions() || deleted && !keeps.keepsDeleted();
    return new Column(family, qualifier, mayHaveGone ? Outcome.LOST : Outcome.REMOVED, null);
  }

  /** The value that a reader sees of one column; null where there is none. */
  private static byte[] visible(List<Cell> cells, List<Cell> wide) {
    Cell newest = null;
    for (Cell cell : cells) {
      boolean put = cell.getType() == Cell.Type.Put;
      if (put && (newest == null || cell.getTimestamp() > newest.getTimestamp()) && !isHidden(cell, cells, wide)) {
        newest = cell;
      }
    }
    return newest == null ? null : CellUtil.cloneValue(newest);
  }

  private static boolean isHidden(Cell put, List<Cell> cells, List<Cell> wide) {
    long version = put.getTimestamp();
    return wide.stream().anyMatch(marker -> hides(marker, version))
        || cells.stream().anyMatch(marker -> hides(marker, version));
  }

  private static boolean hides(Cell marker, long version) {
    return switch (marker.getType()) {
      case DeleteFamily, DeleteColumn -> version <= marker.getTimestamp();
      case Delete, DeleteFamilyVersion -> version == marker.getTimestamp();
      default -> false;
    };
  }

  private static boolean isWide(Cell cell) {
    return cell.getType() == Cell.Type.DeleteFamily || cell.getType() == Cell.Type.DeleteFamilyVersion;
  }

  private boolean isNewer(Cell cell) {
    return cell.getTimestamp() >= limit;
  }
}
