package io.milepost.hbase;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.mutation.BatchSender;
import io.milepost.hbase.mutation.RowChange;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.hbase.client.Result;

/** Stands in for HBase: takes every batch, remembers its size, and can be made to wait or to fail. */
public final class FakeHBase implements BatchSender {
  public final BlockingQueue<Integer> batches = new LinkedBlockingQueue<>();
  public final CountDownLatch entered = new CountDownLatch(1);
  public final CountDownLatch release = new CountDownLatch(1);
  public final AtomicInteger inFlight = new AtomicInteger();
  final int atOnce;
  public volatile boolean slow;
  public volatile Object answer = Result.EMPTY_RESULT;
  public volatile IOException error;

  public FakeHBase() {
    this(1);
  }

  public FakeHBase(int atOnce) {
    this.atOnce = atOnce;
  }

  @Override
  public int atOnce() {
    return atOnce;
  }

  @Override
  public void send(List<RowChange> actions, Object[] results) throws IOException, InterruptedException {
    assertTrue(inFlight.incrementAndGet() <= atOnce, "not more batches in flight than may be");
    try {
      entered.countDown();
      if (slow) {
        release.await();
      }
      Arrays.fill(results, Result.EMPTY_RESULT);
      results[results.length - 1] = answer;
      batches.add(actions.size());
      if (error != null) {
        throw error;
      }
    } finally {
      inFlight.decrementAndGet();
    }
  }
}
