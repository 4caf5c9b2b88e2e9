package io.milepost.hbase.rpc;

import io.milepost.hbase.mutation.RowChange;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.hadoop.hbase.CellScanner;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.Action;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiRequest;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiResponse;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MutationProto.MutationType;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MutationProto;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.RegionAction;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.RegionActionResult;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.ResultOrException;
import org.apache.hadoop.hbase.shaded.protobuf.generated.HBaseProtos.RegionSpecifier.RegionSpecifierType;
import org.apache.hadoop.hbase.shaded.protobuf.generated.HBaseProtos.RegionSpecifier;
import org.apache.hbase.thirdparty.com.google.protobuf.ByteString;
import org.apache.hbase.thirdparty.com.google.protobuf.UnsafeByteOperations;

/**
 * One call to a region server, and its answer. Sends nothing itself.
 *
 * <p>The request only says how many cells each row has: the server takes the row from its cells. Rows with the same
 * number of cells therefore share one message, which is built once. Only the first row of a region is named, for the
 * server's logs.
 */
final class ServerCall {
  /** Rows `from` to `to` (exclusive) of the batch belong to one region and take `actions` parts of the answer. */
  private record Part(int from, int to, int actions) {}

  private final ServerName server;
  private final List<RowChange> changes;
  private final MultiRequest.Builder request = MultiRequest.newBuilder();
  private final List<Part> parts = new ArrayList<>();
  private final List<KeyValue[]> cells = new ArrayList<>();
  private final List<Action> puts = new ArrayList<>();
  private final List<Action> deletes = new ArrayList<>();

  ServerCall(ServerName server, List<RowChange> changes) {
    this.server = server;
    this.changes = changes;
  }

  ServerName server() {
    return server;
  }

  /** Adds rows of one region, in order. */
  void add(byte[] regionName, int from, int to) {
    RegionSpecifier region = RegionSpecifier.newBuilder().setType(RegionSpecifierType.REGION_NAME)
        .setValue(UnsafeByteOperations.unsafeWrap(regionName)).build();
    int before = request.getRegionActionCount();
    RegionAction.Builder simple = RegionAction.newBuilder().setRegion(region);
    for (int i = from; i < to; i++) {
      RowChange change = changes.get(i);
      if (!change.hasPuts() || !change.hasMarkers()) {
        simple.addAction(simple.getActionCount() == 0 ? named(change) : unnamed(change));
        cells.add(change.hasPuts() ? change.puts() : change.markers());
      }
    }
    if (simple.getActionCount() > 0) {
      request.addRegionAction(simple);
    }
    for (int i = from; i < to && simple.getActionCount() < to - from; i++) {
      addAtomic(region, changes.get(i));
    }
    parts.add(new Part(from, to, request.getRegionActionCount() - before));
  }

  /**
   * The delete and the put of a row together, so that no reader sees only one of them; in the order in which they
   * apply.
   */
  private void addAtomic(RegionSpecifier region, RowChange change) {
    if (change.hasPuts() && change.hasMarkers()) {
      ByteString row = UnsafeByteOperations.unsafeWrap(change.row());
      request.addRegionAction(RegionAction.newBuilder().setRegion(region).setAtomic(true)
          .addAction(action(MutationType.DELETE, change.markers().length, row))
          .addAction(action(MutationType.PUT, change.puts().length, row)));
      cells.add(change.markers());
      cells.add(change.puts());
    }
  }

  private static Action named(RowChange change) {
    ByteString row = UnsafeByteOperations.unsafeWrap(change.row());
    return change.hasPuts() ? action(MutationType.PUT, change.puts().length, row)
        : action(MutationType.DELETE, change.markers().length, row);
  }

  private Action unnamed(RowChange change) {
    return change.hasPuts() ? cached(puts, MutationType.PUT, change.puts().length)
        : cached(deletes, MutationType.DELETE, change.markers().length);
  }

  /** By number of cells. */
  private static Action cached(List<Action> known, MutationType type, int count) {
    while (known.size() <= count) {
      known.add(null);
    }
    Action action = known.get(count);
    if (action == null) {
      action = action(type, count, null);
      known.set(count, action);
    }
    return action;
  }

  private static Action action(MutationType type, int count, ByteString row) {
    MutationProto.Builder mutation = MutationProto.newBuilder().setMutateType(type).setAssociatedCellCount(count);
    if (row != null) {
      mutation.setRow(row);
    }
    return Action.newBuilder().setMutation(mutation).build();
  }

  MultiRequest request() {
    return request.build();
  }

  CellScanner cells() {
    return CellBlock.of(cells);
  }

  /** The rows that are not known to be written: all rows of a region with any fault. They can be sent again. */
  List<Integer> failed(MultiResponse response) {
    List<Integer> failed = new ArrayList<>();
    int next = 0;
    for (Part part : parts) {
      int rows = 0;
      boolean fault = response.getRegionActionResultCount() != request.getRegionActionCount();
      for (int i = next; i < next + part.actions() && !fault; i++) {
        RegionActionResult result = response.getRegionActionResult(i);
        fault = result.hasException() || isFaulty(result.getResultOrExceptionList());
        rows += request.getRegionAction(i).getAtomic() ? 1 : result.getResultOrExceptionCount();
      }
      if (fault || rows != part.to() - part.from()) {
        failed.addAll(rows(part));
      }
      next += part.actions();
    }
    return failed;
  }

  /** All rows of the call. */
  List<Integer> rows() {
    List<Integer> rows = new ArrayList<>();
    parts.forEach(part -> rows.addAll(rows(part)));
    return rows;
  }

  private static boolean isFaulty(List<ResultOrException> results) {
    for (ResultOrException result : results) {
      if (result.hasException()) {
        return true;
      }
    }
    return false;
  }

  private static List<Integer> rows(Part part) {
    return IntStream.range(part.from(), part.to()).boxed().toList();
  }
}
