package io.milepost.hbase.mutation;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.job.Failpoint;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/**
 * Sends what a writer adds, on its own threads: while batches are in flight, the next one fills.
 *
 * <p>A batch is sent when it is large enough for an efficient request, when its first mutation has waited for half
 * the interval, or when {@link #flush} is called. It holds everything that arrived while the previous ones were in
 * flight, so requests grow where HBase is slow. As many batches are in flight at once as the target allows, so that
 * one is prepared while HBase syncs its log for the other.
 *
 * <p>The first failure is final: nothing is sent after it, nor after {@link #abort} or {@link #close}, which never
 * send. At most one batch more than may be in flight is in memory; {@link #add} waits where another would be needed.
 */
public final class MutationSender implements MutationSink {
  private static final long JOIN_MILLIS = 10_000;

  private final Object lock = new Object();
  private final BatchSender target;
  private final BooleanSupplier cancelled;
  private final HBaseOptions options;
  private final String table;
  private final int maxRows;
  private final long maxBytes;
  private final long intervalNanos;
  private final long patienceNanos;
  private final List<Thread> threads;
  /** For markers without an explicit version, which are sent one batch at a time. */
  private final ServerTick tick = new ServerTick();

  // All below is guarded by the lock.
  private MutationBuffer filling;
  private long firstAddedAt;
  /** Oldest first. */
  private final Deque<InFlightBatch> inFlight = new ArrayDeque<>();
  private long lastSendNanos;
  private boolean flushRequested;
  private boolean stopped;
  private IOException failure;
  private long flushes;
  private long flushNanos;
  private long mutations;
  private long bytes;

  /** A batch in flight. Compared by identity: no two are equal. */
  private static final class InFlightBatch {
    final MutationBuffer batch;
    final long sentAt = System.nanoTime();

    InFlightBatch(MutationBuffer batch) {
      this.batch = batch;
    }
  }

  /** `cancelled` is checked before each send: a task that Spark has abandoned must not write. */
  public MutationSender(HBaseOptions options, BatchSender target, BooleanSupplier cancelled, String name) {
    this.target = target;
    this.cancelled = cancelled;
    this.options = options;
    this.table = options.table().getNameAsString();
    this.maxRows = options.flushRows();
    this.maxBytes = options.flushBytes();
    this.intervalNanos = TimeUnit.MILLISECONDS.toNanos(options.flushIntervalMillis());
    // The client should give up first and report why; it does not where ZooKeeper or meta hang.
    this.patienceNanos = TimeUnit.MILLISECONDS.toNanos(options.operationTimeoutMillis()) * 11 / 10;
    this.filling = emptyBuffer();
    this.threads = IntStream.range(0, target.atOnce()).mapToObj(number -> new Thread(this::run, name + "-" + number)).toList();
    for (Thread thread : threads) {
      thread.setDaemon(true);
      thread.start();
    }
  }

  @Override
  public void add(RowChange change) throws IOException {
    synchronized (lock) {
      check();
      while (filling.isFull()) {
        await();
        check();
      }
      if (filling.isEmpty()) {
        firstAddedAt = System.nanoTime();
        filling.add(change);
        lock.notifyAll(); // the interval starts now
      } else {
        boolean due = filling.isDue();
        filling.add(change);
        if (!due && filling.isDue()) {
          lock.notifyAll();
        }
      }
    }
  }

  /** When this returns, everything added is in HBase and every answer was checked. */
  @Override
  public void flush() throws IOException {
    synchronized (lock) {
      flushRequested = true;
      lock.notifyAll();
      check();
      while (!inFlight.isEmpty() || !filling.isEmpty()) {
        await();
        check();
      }
      flushRequested = false;
    }
  }

  /** Drops what is buffered and interrupts what is in flight; may be called at any time and more than once. */
  @Override
  public void abort() {
    synchronized (lock) {
      stopped = true;
      filling = emptyBuffer();
      lock.notifyAll();
    }
    threads.forEach(Thread::interrupt);
    join();
  }

  @Override
  public void close() {
    abort();
  }

  @Override
  public FlushStats sent() {
    synchronized (lock) {
      return new FlushStats(mutations, bytes, flushes, TimeUnit.NANOSECONDS.toMillis(flushNanos),
          target.direct(), target.superseded());
    }
  }

  private void run() {
    try {
      InFlightBatch flight = takeWhenDue();
      while (flight != null) {
        send(flight.batch);
        answered(flight);
        flight = takeWhenDue();
      }
    } catch (Throwable e) { // whatever it is, the writer must see it and not wait forever
      fail(e);
    }
  }

  /** The next batch, which is in flight from now on, or null when there will be none. */
  private InFlightBatch takeWhenDue() throws IOException, InterruptedException {
    synchronized (lock) {
      while (!stopped) {
        long nanos = nanosUntilDue();
        if (nanos <= 0) {
          refuseLate();
          InFlightBatch flight = new InFlightBatch(filling);
          filling = emptyBuffer();
          inFlight.add(flight);
          lock.notifyAll();
          return flight;
        }
        TimeUnit.NANOSECONDS.timedWait(lock, nanos);
      }
      return null;
    }
  }

  private void answered(InFlightBatch flight) {
    synchronized (lock) {
      lastSendNanos = System.nanoTime() - flight.sentAt;
      inFlight.remove(flight);
      lock.notifyAll();
    }
  }

  /** A suspended process may have been replaced in the meantime, with its task run by another: it must not write. */
  private void refuseLate() throws HBaseWriteException {
    long late = System.nanoTime() - firstAddedAt - intervalNanos;
    if (late > patienceNanos) {
      throw HBaseWriteException.suspended(table, TimeUnit.NANOSECONDS.toSeconds(late));
    }
  }

  private long nanosUntilDue() {
    if (filling.isEmpty()) {
      return Long.MAX_VALUE;
    }
    if (flushRequested || filling.isDue()) {
      return 0;
    }
    // A batch that is still small waits for the one in flight; more rows may arrive by then.
    return inFlight.isEmpty() ? firstAddedAt + waitNanos() - System.nanoTime() : Long.MAX_VALUE;
  }

  /**
   * The interval is the longest time until a reader sees a row: half of it is for collecting further rows, the other
   * half for the request. The first rows have already waited for their writer, while one checkpoint ended and the
   * next began.
   */
  private long waitNanos() {
    long half = intervalNanos / 2;
    return flushes == 0 ? intervalNanos / 10 : half - Math.min(lastSendNanos, half / 2);
  }

  private void send(MutationBuffer batch) throws IOException, InterruptedException {
    if (cancelled.getAsBoolean()) {
      throw new InterruptedIOException("The task was cancelled; its buffered mutations are dropped");
    }
    send(batch.changes());
    if (batch.isMarking()) {
      tick.marked();
      send(batch.laterChanges());
    }
    synchronized (lock) {
      flushes++;
      bytes += batch.bytes();
    }
    Failpoint.reach("4-write");
  }

  private void send(List<RowChange> changes) throws IOException, InterruptedException {
    if (changes.isEmpty()) {
      return;
    }
    tick.await();
    Failpoint.reach("4-send");
    Object[] results = new Object[changes.size()];
    long start = System.nanoTime();
    Exception thrown = null;
    try {
      target.send(changes, results);
    } catch (IOException | RuntimeException e) {
      // A socket's time-out is an InterruptedIOException by inheritance only.
      if (e instanceof InterruptedIOException && !(e instanceof SocketTimeoutException)) {
        throw e;
      }
      thrown = e;
    }
    HBaseWriteException error = HBaseWriteException.of(table, changes, results, thrown);
    if (error != null) {
      throw error.fatal() || !isTimeUp(start) ? error : HBaseWriteException.unanswered(options, error);
    }
    synchronized (lock) {
      flushNanos += System.nanoTime() - start;
      mutations += changes.size();
    }
  }

  /** HBase's client gives up shortly before its time is over, if another retry would not fit. */
  private boolean isTimeUp(long start) {
    return System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(options.operationTimeoutMillis()) * 9 / 10;
  }

  private void fail(Throwable e) {
    synchronized (lock) {
      if (stopped) { // the interrupt of an abort is not a failure
        return;
      }
      failure = e instanceof IOException io ? io : new IOException("The HBase sender failed: " + e, e);
      filling = emptyBuffer();
      stopped = true;
      lock.notifyAll();
    }
  }

  private void check() throws IOException {
    if (failure != null) {
      throw failure;
    }
    if (stopped) {
      throw new IOException("The HBase writer is closed; nothing more can be written with it");
    }
  }

  /** Waits for the sender, but no longer than a batch may take. */
  private void await() throws InterruptedIOException {
    try {
      long patience =
          inFlight.isEmpty() ? patienceNanos : inFlight.peek().sentAt + patienceNanos - System.nanoTime();
      if (patience > 0) {
        TimeUnit.NANOSECONDS.timedWait(lock, patience);
      } else {
        fail(HBaseWriteException.unanswered(options, null));
        threads.forEach(Thread::interrupt);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("The task was interrupted while it waited for HBase");
    }
  }

  /** Clean-up often happens on an interrupted thread; the interrupt must not skip the wait. */
  private void join() {
    boolean interrupted = false;
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(JOIN_MILLIS);
    for (Thread thread : threads) {
      while (thread.isAlive() && System.nanoTime() < deadline) {
        try {
          thread.join(JOIN_MILLIS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private MutationBuffer emptyBuffer() {
    return new MutationBuffer(maxRows, maxBytes);
  }
}
