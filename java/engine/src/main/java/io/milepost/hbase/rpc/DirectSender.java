package io.milepost.hbase.rpc;

import io.milepost.hbase.mutation.BatchSender;
import io.milepost.hbase.mutation.RowChange;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.shaded.protobuf.generated.ClientProtos.MultiResponse;
import org.apache.hadoop.hbase.util.Bytes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends a batch with one call per region server, made from the cells at hand; whatever fails is sent again through
 * HBase's client.
 *
 * <p>It handles only the successful case. Any fault of a row, a region or a call sends the rows of that region or
 * call again through `fallback`, which follows regions, retries, waits and reports the error. Cells carry their
 * versions, so a row that was written before its answer got lost is written to the same cells again. Where the
 * server's clock sets the versions, HBase's own client repeats writes in the same way.
 */
public final class DirectSender implements BatchSender {
  private static final Logger LOG = LoggerFactory.getLogger(DirectSender.class);
  private static final ExecutorService CALLS = Executors.newCachedThreadPool(task -> {
    Thread thread = new Thread(task, "milepost-hbase-call");
    thread.setDaemon(true);
    return thread;
  });

  private final RegionServers servers;
  private final BatchSender fallback;
  private final int atOnce;
  private final AtomicLong direct = new AtomicLong();

  public DirectSender(RegionServers servers, BatchSender fallback, int atOnce) {
    this.servers = servers;
    this.fallback = fallback;
    this.atOnce = atOnce;
  }

  @Override
  public int atOnce() {
    return atOnce;
  }

  @Override
  public long direct() {
    return direct.get();
  }

  @Override
  public void send(List<RowChange> changes, Object[] results) throws IOException, InterruptedException {
    List<Integer> again = sendDirectly(changes);
    direct.addAndGet(changes.size() - again.size());
    Arrays.fill(results, Result.EMPTY_RESULT);
    if (!again.isEmpty()) {
      again.forEach(i -> results[i] = null);
      Object[] answers = new Object[again.size()];
      try {
        fallback.send(again.stream().map(changes::get).toList(), answers);
      } finally {
        for (int i = 0; i < answers.length; i++) {
          results[again.get(i)] = answers[i];
        }
      }
    }
  }

  /** The rows that have to be sent again. */
  private List<Integer> sendDirectly(List<RowChange> changes) throws IOException, InterruptedException {
    List<ServerCall> calls;
    try {
      calls = calls(changes);
    } catch (IOException e) {
      refuseInterrupt(e);
      LOG.debug("No direct call: the regions could not be found", e);
      return IntStream.range(0, changes.size()).boxed().toList();
    }
    if (calls.size() == 1) {
      return failed(calls.get(0));
    }
    List<Callable<List<Integer>>> tasks = new ArrayList<>();
    calls.forEach(call -> tasks.add(() -> failed(call)));
    List<Integer> again = new ArrayList<>();
    for (Future<List<Integer>> answer : CALLS.invokeAll(tasks)) {
      try {
        again.addAll(answer.get());
      } catch (ExecutionException e) {
        throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
      }
    }
    return again;
  }

  /** One call per server; the changes are sorted by row, so each region is looked up once. */
  private List<ServerCall> calls(List<RowChange> changes) throws IOException {
    Map<ServerName, ServerCall> calls = new TreeMap<>();
    for (int from = 0, to; from < changes.size(); from = to) {
      HRegionLocation location = servers.locate(changes.get(from).row());
      if (location == null || location.getServerName() == null) {
        throw new IOException("A region is not assigned to a server");
      }
      byte[] end = location.getRegion().getEndKey();
      to = from + 1;
      while (to < changes.size() && (end.length == 0 || Bytes.compareTo(changes.get(to).row(), end) < 0)) {
        to++;
      }
      calls.computeIfAbsent(location.getServerName(), server -> new ServerCall(server, changes))
          .add(location.getRegion().getRegionName(), from, to);
    }
    return new ArrayList<>(calls.values());
  }

  private List<Integer> failed(ServerCall call) throws IOException {
    try {
      MultiResponse response = servers.multi(call.server(), call.request(), call.cells());
      return response == null ? call.rows() : call.failed(response);
    } catch (IOException e) {
      refuseInterrupt(e);
      LOG.debug("A direct call to {} failed; its rows go through HBase's own client", call.server(), e);
      return call.rows();
    }
  }

  /**
   * A writer that was interrupted must not send again. A socket timeout is an InterruptedIOException only by
   * inheritance.
   */
  private static void refuseInterrupt(IOException e) throws IOException {
    if (Thread.currentThread().isInterrupted()
        || e instanceof InterruptedIOException && !(e instanceof SocketTimeoutException)) {
      throw e;
    }
  }
}
