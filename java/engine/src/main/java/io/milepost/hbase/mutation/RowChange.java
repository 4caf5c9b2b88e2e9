package io.milepost.hbase.mutation;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;

/**
 * The change of one row: delete markers, then puts. Both are in HBase's order, with at most one cell per column.
 *
 * <p>This is the only form of a mutation until it is sent: the client's Put and Delete hold maps of lists, which cost
 * more than the cells.
 */
public record RowChange(byte[] row, KeyValue[] puts, KeyValue[] markers) {
  public static final KeyValue[] NONE = {};
  /** The overhead of a mutation in memory and in a request, without its cells. */
  private static final int MUTATION_OVERHEAD = 64;

  public boolean hasPuts() {
    return puts.length > 0;
  }

  public boolean hasMarkers() {
    return markers.length > 0;
  }

  /** True where the region server's clock sets the versions of these cells. */
  boolean isServerTime() {
    return (hasPuts() ? puts : markers)[0].getTimestamp() == HConstants.LATEST_TIMESTAMP;
  }

  long bytes() {
    return size(puts) + size(markers);
  }

  /** The change as an action of HBase's client; a single action, so that no reader sees half of the change. */
  public Row action() {
    if (!hasMarkers()) {
      return filled(new Put(row, HConstants.LATEST_TIMESTAMP, true), puts);
    }
    Delete delete = filled(new Delete(row), markers);
    if (!hasPuts()) {
      return delete;
    }
    try {
      return RowMutations.of(List.of(delete, filled(new Put(row, HConstants.LATEST_TIMESTAMP, true), puts)));
    } catch (IOException e) {
      throw new UncheckedIOException("A put and a delete of one row differ in their row", e);
    }
  }

  private static <M extends Mutation> M filled(M mutation, KeyValue[] cells) {
    try {
      for (KeyValue cell : cells) {
        if (mutation instanceof Put put) {
          put.add(cell);
        } else {
          ((Delete) mutation).add(cell);
        }
      }
      return mutation;
    } catch (IOException e) {
      throw new UncheckedIOException("A cell is of another row than its mutation", e);
    }
  }

  private static long size(KeyValue[] cells) {
    long size = cells.length == 0 ? 0 : MUTATION_OVERHEAD;
    for (KeyValue cell : cells) {
      size += cell.getLength();
    }
    return size;
  }
}
