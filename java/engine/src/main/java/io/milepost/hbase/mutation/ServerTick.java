package io.milepost.hbase.mutation;

import java.util.concurrent.TimeUnit;

/**
 * Keeps a put that follows a delete out of the delete's millisecond, where the marker would hide it.
 *
 * <p>For cells whose time is set by the region server's clock. Not thread safe.
 */
final class ServerTick {
  /** Longer than one tick of the region server's clock, a millisecond. */
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  private long markedAt;

  /** Called when markers have just been confirmed. */
  void marked() {
    markedAt = System.nanoTime();
  }

  /** Returns when the server's clock has advanced since then. */
  void await() throws InterruptedException {
    long left = markedAt == 0 ? 0 : markedAt + TICK_NANOS - System.nanoTime();
    if (left > 0) {
      TimeUnit.NANOSECONDS.sleep(left);
    }
  }
}
