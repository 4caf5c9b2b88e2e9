package io.milepost.job;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.Set;

/**
 * Decides, at each question of the engine, whether a batch may take new records (step 2).
 *
 * <p>The state lives here, in the JVM: Python opens, frees and holds the gate, and an idle poll of the engine costs no
 * call into Python and no request to Kafka. Spark asks every source of a query once per round, one after the other;
 * the answer is made once per round, so that all sources are cut together.
 */
public final class Gate {
  /** How long a closed gate keeps the engine waiting before it lets it go round once more. */
  private static final long IDLE_WAIT_MS = 100;

  private enum State { CLOSED, OPEN, FREE, HELD }

  private final Set<String> askedThisRound = new HashSet<>();
  private State state = State.CLOSED;
  private boolean admitted;
  private boolean idle;
  private boolean parked;
  private long rounds;

  /** Lets one round through, which then closes the gate again. */
  public synchronized void open() {
    if (state == State.CLOSED) {
      state = State.OPEN;
      notifyAll();
    }
  }

  /** Lets every round through. */
  public synchronized void free() {
    if (state != State.HELD) {
      state = State.FREE;
      notifyAll();
    }
  }

  /** Lets nothing through any more: the engine is kept at its next question until it is stopped. */
  public synchronized void hold() {
    state = State.HELD;
    notifyAll();
  }

  /** Waits until the engine stands at the held gate, so that no batch is running. */
  public synchronized boolean awaitParked(long timeoutMs) throws InterruptedException {
    long deadline = System.nanoTime() + timeoutMs * 1_000_000;
    while (!parked) {
      long left = (deadline - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        return false;
      }
      wait(left);
    }
    return true;
  }

  /** True while the engine stands at the held gate. */
  public synchronized boolean isParked() {
    return parked;
  }

  /**
   * Waits until an opened gate is closed again and the engine is back at it: what the round let through is committed
   * then, because the engine does one thing after the other (step 8).
   */
  public synchronized boolean awaitIdle(long timeoutMs) throws InterruptedException {
    long deadline = System.nanoTime() + timeoutMs * 1_000_000;
    while (state != State.CLOSED || !idle) {
      long left = (deadline - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        return false;
      }
      wait(left);
    }
    return true;
  }

  /** How many rounds were let through. */
  public synchronized long rounds() {
    return rounds;
  }

  /**
   * Asked by a source in the engine's thread; answers whether it may give a new end offset.
   *
   * <p>Blocks while the gate is held; the interrupt of `query.stop()` ends that.
   */
  public synchronized boolean admits(String source) {
    if (!askedThisRound.add(source)) {
      askedThisRound.clear();
      askedThisRound.add(source);
    }
    if (askedThisRound.size() == 1) {
      admitted = decide();
    }
    return admitted;
  }

  private boolean decide() {
    try {
      if (state == State.CLOSED) {
        idle = true;
        notifyAll();
        wait(IDLE_WAIT_MS);
      }
      while (state == State.HELD) {
        parked = true;
        notifyAll();
        wait();
      }
    } catch (InterruptedException e) {
      // Thrown, not answered: in real-time mode the engine would start one more batch before it looks at its flag.
      // Spark takes this exception for the stop that it is.
      Thread.currentThread().interrupt();
      throw new UncheckedIOException(new InterruptedIOException("stopped at the gate"));
    } finally {
      idle = false;
      parked = false;
    }
    if (state == State.CLOSED) {
      return false;
    }
    if (state == State.OPEN) {
      state = State.CLOSED;
    }
    rounds++;
    return true;
  }
}
