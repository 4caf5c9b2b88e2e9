package io.milepost.hbase;

import io.milepost.job.Failpoint;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.hbase.client.Row;

/**
 * Sends what a writer adds, on a thread of its own: while one batch is in flight, the next fills.
 *
 * <p>A batch goes out when it is full, when its first mutation has waited for the interval, and when {@link #flush} asks.
 * The first failure is final: nothing is sent after it, nor after {@link #abort} or {@link #close}, which never send.
 * At most two batches are in memory; {@link #add} waits where a third would be needed.
 */
final class MutationSender implements AutoCloseable {
  private static final long JOIN_MILLIS = 10_000;
  /** Longer than the region server's clock needs for its next number, a millisecond. */
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  private final Object lock = new Object();
  private final BatchSender target;
  private final BooleanSupplier cancelled;
  private final String table;
  private final int maxRows;
  private final long maxBytes;
  private final long intervalNanos;
  private final long patienceNanos;
  private final Thread thread;
  /** When markers without a version of their own were answered last; the sender's thread alone uses it. */
  private long markedAt;

  // All below is guarded by the lock.
  private MutationBuffer filling;
  private long firstAddedAt;
  private boolean inFlight;
  private long sentAt;
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

  void add(Row action) throws IOException {
    synchronized (lock) {
      check();
      while (filling.isFull()) {
        await();
        check();
      }
      if (filling.isEmpty()) {
        firstAddedAt = System.nanoTime();
        filling.add(action);
        lock.notifyAll(); // the interval starts now
      } else {
        filling.add(action);
        if (filling.isFull()) {
          lock.notifyAll();
        }
      }
    }
  }

  /** When this returns, everything added is in HBase and every answer was checked. */
  void flush() throws IOException {
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
  void abort() {
    synchronized (lock) {
      stopped = true;
      filling = emptyBuffer();
      lock.notifyAll();
    }
    thread.interrupt();
    join();
  }

  /** Sends nothing: what was not flushed is dropped. */
  @Override
  public void close() {
    abort();
  }

  /** What has been sent so far. */
  HBaseCommitMessage.Flushes sent() {
    synchronized (lock) {
      return new HBaseCommitMessage.Flushes(mutations, bytes, flushes, TimeUnit.NANOSECONDS.toMillis(flushNanos));
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
  private MutationBuffer takeWhenDue() throws InterruptedException {
    synchronized (lock) {
      inFlight = false;
      lock.notifyAll();
      while (!stopped) {
        long nanos = nanosUntilDue();
        if (nanos <= 0) {
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

  private long nanosUntilDue() {
    if (filling.isEmpty()) {
      return Long.MAX_VALUE;
    }
    if (flushRequested || filling.isFull()) {
      return 0;
    }
    return firstAddedAt + intervalNanos - System.nanoTime();
  }

  private void send(MutationBuffer batch) throws IOException, InterruptedException {
    if (cancelled.getAsBoolean()) {
      throw new InterruptedIOException("The task was cancelled; its buffered mutations are dropped");
    }
    send(batch.actions());
    if (batch.isMarking()) {
      markedAt = System.nanoTime();
      send(batch.laterActions());
    }
    synchronized (lock) {
      flushes++;
      bytes += batch.bytes();
    }
    Failpoint.reach("4-write");
  }

  private void send(List<Row> actions) throws IOException, InterruptedException {
    if (actions.isEmpty()) {
      return;
    }
    awaitNextTick();
    Object[] results = new Object[actions.size()];
    long start = System.nanoTime();
    Exception thrown = null;
    try {
      target.send(actions, results);
    } catch (IOException | RuntimeException e) {
      // A socket's time-out is an InterruptedIOException by inheritance only.
      if (e instanceof InterruptedIOException && !(e instanceof SocketTimeoutException)) {
        throw e;
      }
      thrown = e;
    }
    HBaseWriteException error = HBaseWriteException.of(table, actions, results, thrown);
    if (error != null) {
      throw error;
    }
    synchronized (lock) {
      flushNanos += System.nanoTime() - start;
      mutations += actions.size();
    }
  }

  /** A put in the millisecond of a delete marker would be hidden by it; the server's clock must have gone on. */
  private void awaitNextTick() throws InterruptedException {
    long left = markedAt == 0 ? 0 : markedAt + TICK_NANOS - System.nanoTime();
    if (left > 0) {
      TimeUnit.NANOSECONDS.sleep(left);
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
