package io.milepost.hbase.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class LateBatchTest {
  /** A second is the operation timeout here, so nothing but a process that was suspended makes a batch 1.3 s late. */
  @Test
  void whoStoodStillSendsNothingMore() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch release = new CountDownLatch(1);
    AtomicInteger sent = new AtomicInteger();
    BatchSender hbase = (changes, results) -> {
      sent.addAndGet(changes.size());
      entered.countDown();
      release.await();
      Arrays.fill(results, Result.EMPTY_RESULT);
    };
    HBaseOptions options = Rows.options("flush.rows", "1", "flush.interval-ms", "1", "operation-timeout-ms", "1000");
    try (MutationSender sender = new MutationSender(options, hbase, () -> false, "late-batch")) {
      sender.add(put("a"));
      entered.await();
      sender.add(put("b"));
      assertFalse(new CountDownLatch(1).await(1300, TimeUnit.MILLISECONDS));
      Thread sending = Thread.getAllStackTraces().keySet().stream()
          .filter(thread -> thread.getName().startsWith("late-batch")).findFirst().orElseThrow();
      release.countDown();
      sending.join(10_000); // it gives up before anybody asks it to flush
      IOException e = assertThrows(IOException.class, sender::flush);
      assertTrue(e.getMessage().contains("This process was suspended"), e.getMessage());
      assertEquals(1, sent.get());
    }
  }

  private static RowChange put(String row) {
    KeyValue cell = new KeyValue(Bytes.toBytes(row), Bytes.toBytes("d"), Bytes.toBytes("v"), 1, Bytes.toBytes("x"));
    return new RowChange(Bytes.toBytes(row), new KeyValue[] {cell}, RowChange.NONE);
  }
}
