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

  private enum State { CLOSED, FREE, HELD }

  /** What a source may do in this round. */
  public enum Answer {
    /** Stay where it is. */
    WAIT,
    /** Give its real end offset. */
    GO,
    /** The same, and let a batch run even where nothing is new: somebody wants a checkpoint. */
    GO_EVEN_IF_EMPTY
  }

  private final Set<String> askedThisRound = new HashSet<>();
  private State state = State.CLOSED;
  private State heldFrom = State.CLOSED;
  private Answer answer = Answer.WAIT;
  private boolean wanted;
  private long wantedAt;
  private long admittedAt;
  private long waitedMs;
  private boolean parked;
  private long rounds;

  /** Lets one round through, with or without new records, and closes the gate again unless it is free. */
  public synchronized void open() {
    if (state != State.HELD && !wanted) {
      wanted = true;
      wantedAt = System.nanoTime();
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

  /** Lets nothing through: the engine is kept at its next question until it is stopped, or released. */
  public synchronized void hold() {
    if (state != State.HELD) {
      heldFrom = state;
      state = State.HELD;
      notifyAll();
    }
  }

  /** Lets the engine continue as before it was held, because the reason for holding it is gone. */
  public synchronized void release() {
    if (state == State.HELD) {
      state = heldFrom;
      notifyAll();
    }
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

  /** How many rounds were let through. */
  public synchronized long rounds() {
    return rounds;
  }

  /** True when the batch that runs now, or ran last, was let through here, and not begun by Spark itself. */
  public synchronized boolean hasAdmitted() {
    return answer != Answer.WAIT;
  }

  /** True when that batch was asked for by opening the gate. */
  public synchronized boolean wasWanted() {
    return answer == Answer.GO_EVEN_IF_EMPTY;
  }

  /** When the last round was let through, as milliseconds since 1970. */
  public synchronized long admittedAt() {
    return admittedAt;
  }

  /** How long the opened gate waited for the engine, in the last requested round. */
  public synchronized long waitedMs() {
    return waitedMs;
  }

  /**
   * Asked by a source in the engine's thread; answers whether it may give a new end offset.
   *
   * <p>Blocks while the gate is held; the interrupt of `query.stop()` ends that.
   */
  public synchronized Answer ask(String source) {
    if (!askedThisRound.add(source)) {
      askedThisRound.clear();
      askedThisRound.add(source);
    }
    if (askedThisRound.size() == 1) {
      answer = decide();
    }
    return answer;
  }

  private Answer decide() {
    answer = Answer.WAIT; // also when the wait is interrupted
    try {
      if (state == State.CLOSED && !wanted) {
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
      parked = false;
    }
    if (!wanted && state == State.CLOSED) {
      return Answer.WAIT;
    }
    Answer given = wanted ? Answer.GO_EVEN_IF_EMPTY : Answer.GO;
    waitedMs = wanted ? (System.nanoTime() - wantedAt) / 1_000_000 : 0;
    wanted = false;
    admittedAt = System.currentTimeMillis();
    rounds++;
    return given;
  }
}
