package io.milepost.hbase.read;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.filter.BinaryComparator;
import org.apache.hadoop.hbase.filter.Filter;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.filter.KeyOnlyFilter;
import org.apache.hadoop.hbase.filter.QualifierFilter;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * What to read from the region servers: which rows, which versions, which cells of a row, and at most how many rows.
 */
record ScanPlan(List<KeyRange> ranges, VersionRange versions, Cells cells, int limit) implements Serializable {
  static final int NO_LIMIT = 0;
  private static final int ROWS_PER_REQUEST = 1000;

  /** The column of a cell. */
  record Column(byte[] family, byte[] qualifier) implements Serializable {
    @Override
    public String toString() {
      return Bytes.toStringBinary(family) + ":" + Bytes.toStringBinary(qualifier);
    }
  }

  /**
   * Which cells are read.
   *
   * <p>A row exists if any cell of `mapped` does, so a row without one of the `wanted` cells must still be found: by
   * its first cell. Where `areEnough`, a row without any of `wanted` is not needed.
   */
  record Cells(List<Column> mapped, List<Column> wanted, boolean areEnough) implements Serializable {
    private Scan narrow(Scan scan) {
      for (Column column : areEnough ? wanted : mapped) {
        scan.addColumn(column.family(), column.qualifier());
      }
      Filter filter = filter();
      return filter == null ? scan : scan.setFilter(filter);
    }

    private Filter filter() {
      if (areEnough || wanted.size() == mapped.size()) {
        return null;
      }
      if (wanted.isEmpty()) {
        return new FilterList(FilterList.Operator.MUST_PASS_ALL, new FirstKeyOnlyFilter(), new KeyOnlyFilter());
      }
      List<Filter> either = new ArrayList<>();
      either.add(new FirstKeyOnlyFilter());
      for (Column column : wanted) {
        // Not by family as well: that filter would skip the row at the first cell of another family.
        either.add(new QualifierFilter(CompareOperator.EQUAL, new BinaryComparator(column.qualifier())));
      }
      return new FilterList(FilterList.Operator.MUST_PASS_ONE, either);
    }
  }

  /** The ranges inside a region; none where it need not be read. */
  List<KeyRange> within(KeyRange region) {
    return versions.isEmpty() ? List.of()
        : ranges.stream().map(region::intersect).filter(Objects::nonNull).toList();
  }

  /** Rows of a range: newest cells, typed. */
  Scan scan(KeyRange range) {
    return cells.narrow(base(range));
  }

  /**
   * Every version of every cell of a range, and the delete markers; of these families, or of all where none is given.
   */
  Scan rawScan(KeyRange range, List<byte[]> families, int maxVersions, boolean withValues) {
    // A row with a long history may not fit into one response; cells need not arrive row by row.
    Scan scan = base(range).setRaw(true).setAllowPartialResults(true);
    scan.readVersions(maxVersions);
    families.forEach(scan::addFamily);
    return withValues ? scan : scan.setFilter(new KeyOnlyFilter());
  }

  private Scan base(KeyRange range) {
    // Reading a whole table once would evict everything else from the region servers' cache.
    Scan scan = new Scan().withStartRow(range.start()).withStopRow(range.stop()).setCaching(ROWS_PER_REQUEST)
        .setCacheBlocks(false);
    if (limit != NO_LIMIT) {
      scan.setLimit(limit).setCaching(Math.min(limit, ROWS_PER_REQUEST));
    }
    return versions.narrow(scan);
  }

  /** For the query's plan. */
  String text() {
    StringBuilder text = new StringBuilder();
    if (!ranges.equals(List.of(KeyRange.ALL))) {
      text.append(", rows ").append(ranges.size() <= 3 ? ranges.toString() : ranges.size() + " ranges");
    }
    if (!versions.isAll()) {
      text.append(", versions ").append(versions.least()).append(" to ").append(versions.most());
    }
    if (cells != null) {
      text.append(", cells ").append(
          cells.wanted().stream().map(Column::toString).collect(Collectors.joining(", ", "[", "]")));
    }
    return text.append(limit == NO_LIMIT ? "" : ", limit " + limit).toString();
  }
}
