package io.milepost.hbase.mutation;

import io.milepost.hbase.client.HBaseOptions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.CheckAndMutateResult;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Sends a change only where the row holds no newer one: a guard cell, written with the change, holds the version of
 * the newest.
 *
 * <p>The cells themselves get the server's time, as readers, a TTL and other writers of the table expect. A delete
 * removes the mapped columns and leaves the guard. Not thread safe.
 */
public final class CasSender implements BatchSender {
  static final String QUALIFIER = "_milepost";
  private static final byte[] GUARD = Bytes.toBytes(QUALIFIER);

  /** The call of the client, which fills the results by position. */
  @FunctionalInterface
  public interface Batch {
    void batch(List<? extends Row> actions, Object[] results) throws IOException, InterruptedException;
  }

  private final Batch table;
  private final byte[] family;
  private final List<Column> columns;
  private final CompareOperator newer;
  private final ServerTick tick = new ServerTick();
  private final AtomicLong superseded = new AtomicLong();

  private record Column(byte[] family, byte[] qualifier) {
    boolean isOf(KeyValue cell) {
      return CellUtil.matchingColumn(cell, family, qualifier);
    }
  }

  public CasSender(Batch table, HBaseOptions options) {
    this.table = table;
    this.columns = options.columns().stream()
        .map(target -> new Column(Bytes.toBytes(target.family()), Bytes.toBytes(target.qualifier()))).toList();
    this.family = family(options);
    // An offset belongs to one record. Other versions may tie, and of equal ones the later arrival wins, as it does unguarded.
    this.newer = options.versionKind() == HBaseOptions.VersionKind.OFFSET
        ? CompareOperator.GREATER : CompareOperator.GREATER_OR_EQUAL;
  }

  /** Refuses, on the driver, options that cannot be guarded. */
  public static void check(HBaseOptions options) {
    if (options.versionKind() == HBaseOptions.VersionKind.SERVER_TIME) {
      throw HBaseOptions.invalid(HBaseOptions.GUARD, "cas", "it compares versions, and with server-time a repeated"
          + " record gets another one", "set version to offset, checkpoint, timestamp or column:<name>");
    }
    String first = Bytes.toString(family(options));
    if (options.columns().stream().anyMatch(t -> t.family().equals(first) && t.qualifier().equals(QUALIFIER))) {
      throw HBaseOptions.invalid(HBaseOptions.COLUMNS, first + ":" + QUALIFIER,
          "this is the guard cell of guard cas", "give the column another qualifier");
    }
  }

  /** The guard is in the first family by name. */
  private static byte[] family(HBaseOptions options) {
    return options.columns().stream().map(target -> Bytes.toBytes(target.family()))
        .min(Bytes.BYTES_COMPARATOR).orElseThrow();
  }

  /** How many changes were not applied because the row had the same version or a newer one. */
  @Override
  public long superseded() {
    return superseded.get();
  }

  @Override
  public void send(List<RowChange> changes, Object[] results) throws IOException, InterruptedException {
    tick.await();
    List<Integer> all = IntStream.range(0, changes.size()).boxed().toList();
    List<Integer> refused = ask(changes, all, results, newer);
    // A comparison never holds for a row without a guard, so its absence is a condition of its own: null.
    refused = ask(changes, refused, results, null);
    // Another writer may have written the first guard in between, with an older version.
    refused = ask(changes, refused, results, newer);
    superseded.addAndGet(refused.size());
    if (changes.stream().anyMatch(RowChange::hasMarkers)) {
      tick.marked();
    }
  }

  /** Sends the changes at these positions; returns the positions where the condition did not hold. */
  private List<Integer> ask(List<RowChange> changes, List<Integer> places, Object[] results, CompareOperator condition)
      throws IOException, InterruptedException {
    List<Integer> refused = new ArrayList<>();
    if (places.isEmpty()) {
      return refused;
    }
    List<CheckAndMutate> actions = new ArrayList<>(places.size());
    for (int place : places) {
      actions.add(guarded(changes.get(place), condition));
    }
    Object[] answers = new Object[places.size()];
    try {
      table.batch(actions, answers);
    } finally {
      for (int i = 0; i < answers.length; i++) {
        results[places.get(i)] = answers[i]; // also where the call fails: a change without an answer must not look confirmed
        if (answers[i] instanceof CheckAndMutateResult answer && !answer.isSuccess()) {
          refused.add(places.get(i));
        }
      }
    }
    return refused;
  }

  private CheckAndMutate guarded(RowChange change, CompareOperator condition) throws IOException {
    byte[] version = Bytes.toBytes(version(change));
    CheckAndMutate.Builder builder = CheckAndMutate.newBuilder(change.row());
    // HBase compares the given value with the stored one, in this order; eight bytes, big end first, sort as numbers.
    builder = condition == null
        ? builder.ifNotExists(family, GUARD) : builder.ifMatches(family, GUARD, condition, version);
    Put put = new Put(change.row()).addColumn(family, GUARD, version);
    List<KeyValue> shown = shown(change);
    for (KeyValue cell : shown) {
      put.addColumn(CellUtil.cloneFamily(cell), CellUtil.cloneQualifier(cell), CellUtil.cloneValue(cell));
    }
    Delete delete = new Delete(change.row());
    for (Column column : columns) {
      // A marker would hide a put of the same request, which gets the same time.
      if (isDeleted(column, change) && shown.stream().noneMatch(column::isOf)) {
        delete.addColumns(column.family(), column.qualifier());
      }
    }
    return delete.isEmpty() ? builder.build(put) : builder.build(RowMutations.of(List.of(delete, put)));
  }

  private static long version(RowChange change) {
    return Math.max(newest(change.puts()), newest(change.markers()));
  }

  private static long newest(KeyValue[] cells) {
    return Arrays.stream(cells).mapToLong(KeyValue::getTimestamp).max().orElse(0);
  }

  /** The puts that no newer marker of the same change hides. */
  private static List<KeyValue> shown(RowChange change) {
    return Arrays.stream(change.puts())
        .filter(put -> Arrays.stream(change.markers())
            .noneMatch(marker -> marker.getTimestamp() > put.getTimestamp() && isOver(marker, put)))
        .toList();
  }

  private static boolean isDeleted(Column column, RowChange change) {
    return Arrays.stream(change.markers()).anyMatch(marker -> CellUtil.matchingFamily(marker, column.family())
        && (isOfFamily(marker) || column.isOf(marker)));
  }

  private static boolean isOver(KeyValue marker, KeyValue put) {
    return CellUtil.matchingFamily(marker, put) && (isOfFamily(marker) || CellUtil.matchingQualifier(marker, put));
  }

  private static boolean isOfFamily(KeyValue marker) {
    return marker.getTypeByte() == KeyValue.Type.DeleteFamily.getCode();
  }
}
