package io.milepost.hbase.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Rows;
import io.milepost.hbase.mutation.RowChange;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.apache.hadoop.hbase.CellScanner;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.NotServingRegionException;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionInfoBuilder;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.codec.Codec;
import org.apache.hadoop.hbase.codec.KeyValueCodec;
import org.apache.hadoop.hbase.ipc.CallTimeoutException;
import org.apache.hadoop.hbase.shaded.protobuf.ProtobufUtil;
import org.apache.hadoop.hbase.shaded.protobuf.ResponseConverter;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.Action;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiRequest;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiResponse;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MutationProto.MutationType;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.RegionAction;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.RegionActionResult;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.ResultOrException;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class DirectSenderTest {
  private static final TableName TABLE = TableName.valueOf("orders");
  private static final byte[] FAMILY = Bytes.toBytes("d");

  /** Three regions, the last on a server of its own; reads a request as HBase does, and can be made to refuse. */
  private static final class FakeServers implements RegionServers {
    final List<String> written = new CopyOnWriteArrayList<>();
    final List<String> calls = new CopyOnWriteArrayList<>();
    int looked;
    String badRegion = "none";
    IOException regionError;
    String badRow = "none";
    IOException callError;
    IOException locateError;
    boolean cutShort;

    @Override
    public HRegionLocation locate(byte[] row) throws IOException {
      if (locateError != null) {
        throw locateError;
      }
      looked++;
      String text = Bytes.toString(row);
      RegionInfo region = text.compareTo("h") < 0 ? region("", "h") : text.compareTo("p") < 0 ? region("h", "p") : region("p", "");
      return new HRegionLocation(region, ServerName.valueOf(text.compareTo("p") < 0 ? "one" : "two", 16020, 1));
    }

    private static RegionInfo region(String start, String end) {
      return RegionInfoBuilder.newBuilder(TABLE).setStartKey(Bytes.toBytes(start)).setEndKey(Bytes.toBytes(end))
          .setRegionId(7).build();
    }

    @Override
    public MultiResponse multi(ServerName server, MultiRequest request, CellScanner cells) throws IOException {
      calls.add(server.getHostname());
      if (callError != null) {
        throw callError;
      }
      MultiResponse.Builder response = MultiResponse.newBuilder();
      CellScanner received = overTheWire(cells);
      for (RegionAction region : request.getRegionActionList()) {
        response.addRegionActionResult(answer(region, received));
      }
      assertFalse(received.advance(), "no cell without a row");
      if (cutShort) {
        response.removeRegionActionResult(response.getRegionActionResultCount() - 1);
      }
      return response.build();
    }

    private static CellScanner overTheWire(CellScanner cells) throws IOException {
      ByteArrayOutputStream wire = new ByteArrayOutputStream();
      Codec.Encoder encoder = new KeyValueCodec().getEncoder(wire);
      while (cells.advance()) {
        encoder.write(cells.current());
      }
      encoder.flush();
      return new KeyValueCodec().getDecoder(new ByteArrayInputStream(wire.toByteArray()));
    }

    private RegionActionResult answer(RegionAction region, CellScanner cells) throws IOException {
      RegionActionResult.Builder result = RegionActionResult.newBuilder();
      String name = region.getRegion().getValue().toStringUtf8();
      boolean refused = name.startsWith("orders," + badRegion + ",");
      List<String> texts = new ArrayList<>();
      for (Action action : region.getActionList()) {
        var mutation = action.getMutation().getMutateType() == MutationType.PUT
            ? ProtobufUtil.toPut(action.getMutation(), cells) : ProtobufUtil.toDelete(action.getMutation(), cells);
        String row = Bytes.toString(mutation.getRow());
        ResultOrException.Builder one = ResultOrException.newBuilder();
        if (row.equals(badRow)) {
          one.setException(ResponseConverter.buildException(new DoNotRetryIOException("bad")));
        } else {
          mutation.getFamilyCellMap().get(FAMILY).forEach(cell -> texts.add(row + (region.getAtomic() ? " atomic " : " ")
              + cell.getType() + "@" + cell.getTimestamp() + "=" + Bytes.toString(CellUtil.cloneValue(cell))));
        }
        result.addResultOrException(one);
      }
      if (refused) {
        return RegionActionResult.newBuilder().setException(ResponseConverter.buildException(regionError)).build();
      }
      written.addAll(texts);
      return result.build();
    }
  }

  private final FakeServers servers = new FakeServers();
  private final List<String> careful = new ArrayList<>();
  private Object answer = Result.EMPTY_RESULT;

  private final DirectSender sender = new DirectSender(servers, (changes, results) -> {
    changes.forEach(change -> careful.add(Bytes.toString(change.row())));
    Arrays.fill(results, answer);
  }, 1);

  private static RowChange put(String row) {
    return Rows.change(new Put(Bytes.toBytes(row)).addColumn(FAMILY, Bytes.toBytes("v"), 7, Bytes.toBytes("x")));
  }

  private static List<RowChange> puts(String... rows) {
    return Stream.of(rows).map(DirectSenderTest::put).toList();
  }

  private Object[] send(List<RowChange> changes) throws IOException, InterruptedException {
    Object[] results = new Object[changes.size()];
    sender.send(changes, results);
    return results;
  }

  @Test
  void oneCallForEachServerAndOneLookForEachRegion() throws Exception {
    Object[] results = send(puts("a", "b", "h", "i", "p", "q"));
    assertEquals(6, servers.written.size());
    assertEquals(List.of("one", "two"), servers.calls.stream().sorted().toList());
    assertEquals(3, servers.looked);
    assertTrue(Arrays.stream(results).allMatch(result -> result == Result.EMPTY_RESULT));
    assertEquals(6, sender.direct());
    assertEquals(List.of(), careful);
  }

  /** Only the first row of a region is named in the request: the rest must come out of the cells. */
  @Test
  void cellsGoWithTheirRows() throws Exception {
    Put two = new Put(Bytes.toBytes("b")).addColumn(FAMILY, Bytes.toBytes("v"), 8, Bytes.toBytes("1"))
        .addColumn(FAMILY, Bytes.toBytes("w"), 8, Bytes.toBytes("2"));
    Delete delete = new Delete(Bytes.toBytes("c")).addFamily(FAMILY, 9);
    Delete marker = new Delete(Bytes.toBytes("d")).addColumns(FAMILY, Bytes.toBytes("v"), 5);
    Put beside = new Put(Bytes.toBytes("d")).addColumn(FAMILY, Bytes.toBytes("w"), 6, Bytes.toBytes("3"));
    send(List.of(put("a"), Rows.change(two), Rows.change(delete), Rows.change(Rows.both(marker, beside)), put("e")));
    assertEquals(List.of("a Put@7=x", "b Put@8=1", "b Put@8=2", "c DeleteFamily@9=", "e Put@7=x",
        "d atomic DeleteColumn@5=", "d atomic Put@6=3"), servers.written);
    assertEquals(5, sender.direct());
  }

  @Test
  void theRowsOfARegionThatMovedGoTheLongWay() throws Exception {
    servers.badRegion = "h";
    servers.regionError = new NotServingRegionException("moved");
    Object[] results = send(puts("a", "h", "i", "p"));
    assertEquals(List.of("h", "i"), careful);
    assertEquals(2, sender.direct());
    assertTrue(Arrays.stream(results).allMatch(result -> result == Result.EMPTY_RESULT));
  }

  @Test
  void aFaultOfOneRowIsWordedByTheLongWayAndOnlyThere() throws Exception {
    servers.badRow = "i";
    answer = new DoNotRetryIOException("no such family");
    Object[] results = send(puts("a", "h", "i", "p"));
    assertEquals(List.of("h", "i"), careful);
    assertSame(Result.EMPTY_RESULT, results[0]);
    assertSame(answer, results[1]);
    assertSame(answer, results[2]);
    assertSame(Result.EMPTY_RESULT, results[3]);
  }

  @Test
  void anAnswerThatIsTooShortIsNoAnswer() throws Exception {
    servers.cutShort = true;
    send(puts("a", "h"));
    assertEquals(List.of("a", "h"), careful);
    assertEquals(0, sender.direct());
  }

  @Test
  void aCallThatFailsOrTimesOutGoesTheLongWay() throws Exception {
    for (IOException error : List.of(new IOException("connection reset"), new CallTimeoutException("60 s"))) {
      careful.clear();
      servers.callError = error;
      send(puts("a", "p"));
      assertEquals(List.of("a", "p"), careful);
    }
  }

  @Test
  void whereNoRegionIsFoundTheLongWayTellsWhy() throws Exception {
    servers.locateError = new IOException("no meta");
    answer = null;
    assertNull(send(puts("a"))[0]);
    assertEquals(List.of("a"), careful);
  }

  @Test
  void anInterruptedWriterSendsNothingAgain() {
    servers.callError = new InterruptedIOException("stopped");
    assertThrows(InterruptedIOException.class, () -> send(puts("a")));
    assertThrows(InterruptedIOException.class, () -> send(puts("a", "p")));
    servers.callError = new IOException("the channel was closed");
    Thread.currentThread().interrupt();
    assertThrows(IOException.class, () -> send(puts("a")));
    assertTrue(Thread.interrupted());
    assertEquals(List.of(), careful);
  }
}
