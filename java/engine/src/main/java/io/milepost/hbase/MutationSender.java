package io.milepost.hbase;

import io.milepost.job.Failpoint;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Sends what a writer adds, on a thread of its own: while one batch is in flight, the next fills.
 *
 * <p>A batch goes out when a request of it pays, when its first mutation has waited for half the interval, and when {@link #flush}
 * asks; it is all that has come while the one before was in flight, so requests grow where HBase is slow.
 * The first failure is final: nothing is sent after it, nor after {@link #abort} or {@link #close}, which never send.
 * At most two batches are in memory; {@link #add} waits where a third would be needed.
 */
final class MutationSender implements Outlet {
  private static final long JOIN_MILLIS = 10_000;

  private final Object lock = new Object();
  private final BatchSender target;
  private final BooleanSupplier cancelled;
  private final String table;
  private final int maxRows;
  private final long maxBytes;
  private final long intervalNanos;
  private final long patienceNanos;
  private final Thread thread;
  /** For markers without a version of their own; the sender's thread alone uses it. */
  private final ServerTick tick = new ServerTick();

  // All below is guarded by the lock.
  private MutationBuffer filling;
  private long firstAddedAt;
  private boolean inFlight;
  private long sentAt;
  private long lastSendNanos;
  private boolean flushRequested;
  private boolean stopped;
  private IOException failure;
  private long flushes;
  private long flushNanos;
  private long mutations;
  private long bytes;

  /** `cancelled` is asked before each send: a task that Spark has given up must write nothing more. */
  MutationSender(HBaseOptions options, BatchSender target, BooleanSupplier cancelled, String name) {
    this.target = target;
    this.cancelled = cancelled;
    this.table = options.table().getNameAsString();
    this.maxRows = options.flushRows();
    this.maxBytes = options.flushBytes();
    this.intervalNanos = TimeUnit.MILLISECONDS.toNanos(options.flushIntervalMillis());
    // The client should give up first, and say why; it does not where ZooKeeper or meta hang.
    this.patienceNanos = TimeUnit.MILLISECONDS.toNanos(options.operationTimeoutMillis()) * 11 / 10;
    this.filling = emptyBuffer();
    this.thread = new Thread(this::run, name);
    thread.setDaemon(true);
    thread.start();
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
      while (inFlight || !filling.isEmpty()) {
        await();
        check();
      }
      flushRequested = false;
    }
  }

  /** Drops what is buffered and breaks off what is in flight; safe to call at any time, and again. */
  @Override
  public void abort() {
    synchronized (lock) {
      stopped = true;
      filling = emptyBuffer();
      lock.notifyAll();
    }
    thread.interrupt();
    join();
  }

  @Override
  public void close() {
    abort();
  }

  @Override
  public HBaseCommitMessage.Flushes sent() {
    synchronized (lock) {
      return new HBaseCommitMessage.Flushes(mutations, bytes, flushes, TimeUnit.NANOSECONDS.toMillis(flushNanos),
          target.direct(), target.superseded());
    }
  }

  private void run() {
    try {
      MutationBuffer batch = takeWhenDue();
      while (batch != null) {
        send(batch);
        batch = takeWhenDue();
      }
    } catch (Throwable e) { // whatever it is, the writer must learn of it and not wait for ever
      fail(e);
    }
  }

  /** The next batch, or null when there will be none. */
  private MutationBuffer takeWhenDue() throws IOException, InterruptedException {
    synchronized (lock) {
      lastSendNanos = inFlight ? System.nanoTime() - sentAt : 0;
      inFlight = false;
      lock.notifyAll();
      while (!stopped) {
        long nanos = nanosUntilDue();
        if (nanos <= 0) {
          refuseLate();
          MutationBuffer batch = filling;
          filling = emptyBuffer();
          inFlight = true;
          sentAt = System.nanoTime();
          lock.notifyAll();
          return batch;
        }
        TimeUnit.NANOSECONDS.timedWait(lock, nanos);
      }
      return null;
    }
  }

  /** A process that stood still may have been given up meanwhile, and its task done by another: it must not write on. */
  private void refuseLate() throws HBaseWriteException {
    long late = System.nanoTime() - firstAddedAt - intervalNanos;
    if (late > patienceNanos) {
      throw HBaseWriteException.stoodStill(table, TimeUnit.NANOSECONDS.toSeconds(late));
    }
  }

  private long nanosUntilDue() {
    if (filling.isEmpty()) {
      return Long.MAX_VALUE;
    }
    if (flushRequested || filling.isDue()) {
      return 0;
    }
    return firstAddedAt + waitNanos() - System.nanoTime();
  }

  /**
   * The interval is what a reader waits at most: half of it is for company, the other half for the way to HBase. The first
   * rows have waited for their writer already, while one checkpoint ended and the next began.
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
      throw error;
    }
    synchronized (lock) {
      flushNanos += System.nanoTime() - start;
      mutations += changes.size();
    }
  }

  private void fail(Throwable e) {
    synchronized (lock) {
      if (stopped) { // the interrupt of an abort is no failure
        return;
      }
      failure = e instanceof IOException io ? io : new IOException("The HBase sender broke off: " + e, e);
      filling = emptyBuffer();
      inFlight = false;
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

  /** Waits for the sender, but not longer than a batch may take. */
  private void await() throws InterruptedIOException {
    try {
      long patience = inFlight ? sentAt + patienceNanos - System.nanoTime() : patienceNanos;
      if (patience > 0) {
        TimeUnit.NANOSECONDS.timedWait(lock, patience);
      } else {
        fail(HBaseWriteException.unanswered(table, TimeUnit.NANOSECONDS.toSeconds(patienceNanos)));
        thread.interrupt();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("The task was interrupted while it waited for HBase");
    }
  }

  /** Cleaning up often happens on an interrupted thread; the wait must not be skipped for that. */
  private void join() {
    boolean interrupted = false;
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(JOIN_MILLIS);
    while (thread.isAlive() && System.nanoTime() < deadline) {
      try {
        thread.join(JOIN_MILLIS);
      } catch (InterruptedException e) {
        interrupted = true;
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
