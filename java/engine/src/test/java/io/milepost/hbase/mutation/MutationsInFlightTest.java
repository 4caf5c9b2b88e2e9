package io.milepost.hbase.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.FakeHBase;
import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is on its way, what fills meanwhile, and what waits. */
@Timeout(30)
class MutationsInFlightTest {
  private static final String NEVER = "3600000";

  private static MutationSender sender(FakeHBase hbase, String rows, String intervalMillis) {
    return new MutationSender(Rows.options("flush.rows", rows, "flush.interval-ms", intervalMillis), hbase, () -> false, "test");
  }

  private static RowChange put(int i) {
    return Rows.change(new Put(Bytes.toBytes("row" + i)).addColumn(Bytes.toBytes("d"), Bytes.toBytes("v"), i, Bytes.toBytes("x")));
  }

  @Test
  void whileOneBatchIsInFlightTheNextFillsAndAThirdWaits() throws Exception {
    FakeHBase hbase = new FakeHBase();
    hbase.slow = true;
    try (MutationSender sender = sender(hbase, "2", NEVER)) {
      sender.add(put(1));
      sender.add(put(2));
      assertTrue(hbase.entered.await(10, TimeUnit.SECONDS));
      sender.add(put(3));
      sender.add(put(4));
      AtomicBoolean added = new AtomicBoolean();
      Thread task = new Thread(() -> {
        try {
          sender.add(put(5));
          added.set(true);
        } catch (IOException e) {
          // Left unset: the assertion below tells.
        }
      });
      task.start();
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
      while (task.getState() != Thread.State.TIMED_WAITING && System.nanoTime() < deadline) {
        Thread.onSpinWait();
      }
      assertEquals(Thread.State.TIMED_WAITING, task.getState());
      assertFalse(added.get(), "a third buffer would be memory without bound");
      hbase.release.countDown();
      task.join(10_000);
      assertTrue(added.get());
      sender.flush();
      assertEquals(5, sender.sent().mutations());
    }
  }

  @Test
  void whatComesWhileARequestIsInFlightIsTheNextRequest() throws Exception {
    FakeHBase hbase = new FakeHBase();
    hbase.slow = true;
    try (MutationSender sender = sender(hbase, "5000", NEVER)) {
      for (int i = 0; i < 1000; i++) {
        sender.add(put(i));
      }
      assertTrue(hbase.entered.await(10, TimeUnit.SECONDS), "enough for a request that pays, though far from the limit");
      for (int i = 1000; i < 3500; i++) {
        sender.add(put(i));
      }
      hbase.release.countDown();
      sender.flush();
      assertEquals(List.of(1000, 2500), List.copyOf(hbase.batches));
    }
  }

  @Test
  void whereTheOrderDoesNotMatterTwoBatchesAreInFlight() throws Exception {
    FakeHBase hbase = new FakeHBase(2);
    hbase.slow = true;
    try (MutationSender sender = sender(hbase, "2", NEVER)) {
      for (int i = 0; i < 6; i++) {
        sender.add(put(i)); // two batches on their way, one that is full: all without waiting for an answer
      }
      await(() -> hbase.inFlight.get() == 2);
      assertEquals(0, sender.sent().mutations());
      hbase.release.countDown();
      sender.flush();
      assertEquals(6, sender.sent().mutations());
      assertEquals(List.of(2, 2, 2), List.copyOf(hbase.batches));
    }
  }

  @Test
  void aBatchThatDoesNotPayWaitsForTheOneInFlight() throws Exception {
    FakeHBase hbase = new FakeHBase(2);
    hbase.slow = true;
    try (MutationSender sender = sender(hbase, "5000", "20")) {
      sender.add(put(1));
      assertTrue(hbase.entered.await(10, TimeUnit.SECONDS));
      sender.add(put(2));
      TimeUnit.MILLISECONDS.sleep(100); // the interval and more: nothing may happen, so there is nothing to wait for
      assertEquals(1, hbase.inFlight.get());
      hbase.release.countDown();
      await(() -> hbase.batches.size() == 2);
    }
  }

  @Test
  void nothingIsSentAfterTheFailureOfOneOfTwo() throws Exception {
    CountDownLatch failed = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    BatchSender hbase = new BatchSender() {
      @Override
      public int atOnce() {
        return 2;
      }

      @Override
      public void send(List<RowChange> changes, Object[] results) throws IOException, InterruptedException {
        if (calls.incrementAndGet() == 1) {
          throw new IOException("region moved");
        }
        failed.await();
        Arrays.fill(results, Result.EMPTY_RESULT);
      }
    };
    HBaseOptions options = Rows.options("flush.rows", "1", "flush.interval-ms", NEVER);
    try (MutationSender sender = new MutationSender(options, hbase, () -> false, "test")) {
      IOException first = assertThrows(HBaseWriteException.class, () -> {
        for (int i = 0; i < 10; i++) {
          sender.add(put(i));
        }
        sender.flush();
      });
      int before = calls.get();
      failed.countDown();
      assertSame(first, assertThrows(IOException.class, sender::flush));
      assertSame(first, assertThrows(IOException.class, () -> sender.add(put(11))));
      assertTrue(before <= 2 && calls.get() == before, "only what was on its way already");
    }
  }

  private static void await(BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline);
      Thread.onSpinWait();
    }
  }
}
