package io.milepost.hbase.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Rows;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class FlushIntervalTest {
  private final BlockingQueue<Integer> batches = new LinkedBlockingQueue<>();

  private MutationSender sender(String intervalMillis) {
    BatchSender hbase = (changes, results) -> {
      Arrays.fill(results, Result.EMPTY_RESULT);
      batches.add(changes.size());
    };
    return new MutationSender(Rows.options("flush.interval-ms", intervalMillis), hbase, () -> false, "test");
  }

  private long millisUntilSent(MutationSender sender, int row) throws Exception {
    long start = System.nanoTime();
    Put put = new Put(Bytes.toBytes("row" + row));
    sender.add(Rows.change(put.addColumn(Bytes.toBytes("d"), Bytes.toBytes("v"), row, Bytes.toBytes("x"))));
    assertEquals(1, batches.poll(10, TimeUnit.SECONDS));
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
  }

  @Test
  void theIntervalFlushesAlsoWhenNoRecordComes() throws Exception {
    try (MutationSender sender = sender("50")) {
      millisUntilSent(sender, 1);
      millisUntilSent(sender, 2);
    }
  }

  @Test
  void aRowIsReadableWithinTheIntervalAndTheFirstOneSooner() throws Exception {
    try (MutationSender sender = sender("4000")) {
      long first = millisUntilSent(sender, 1);
      long second = millisUntilSent(sender, 2);
      assertTrue(first < 1000, "the first row has waited for its writer already: " + first);
      assertTrue(second >= 1000 && second < 4000, "a later one waits for company, and the interval has room: " + second);
    }
  }
}
