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
import java.io.InterruptedIOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class MutationSenderTest {
  private static final String NEVER = "3600000";

  private static MutationSender sender(FakeHBase hbase, String rows, String intervalMillis) {
    return new MutationSender(Rows.options("flush.rows", rows, "flush.interval-ms", intervalMillis), hbase, () -> false, "test");
  }

  private static RowChange put(int i) {
    return Rows.change(new Put(Bytes.toBytes("row" + i)).addColumn(Bytes.toBytes("d"), Bytes.toBytes("v"), i, Bytes.toBytes("x")));
  }

  @Test
  void flushSendsUntilNothingIsPending() throws Exception {
    FakeHBase hbase = new FakeHBase();
    try (MutationSender sender = sender(hbase, "10", NEVER)) {
      for (int i = 0; i < 25; i++) {
        sender.add(put(i));
      }
      sender.flush();
      assertEquals(25, hbase.batches.stream().mapToInt(Integer::intValue).sum());
      assertEquals(25, sender.sent().mutations());
      assertEquals(3, sender.sent().count());
      sender.flush();
      assertEquals(3, sender.sent().count(), "nothing pending, nothing sent");
      sender.add(put(99));
      sender.flush();
      assertEquals(4, sender.sent().count());
    }
  }

  /** Where the server's clock makes the versions, a put in the millisecond of a delete would be hidden. */
  @ParameterizedTest
  @ValueSource(strings = {"1", "1000"})
  void aPutAfterADeleteIsSentInALaterMillisecond(String rows) throws Exception {
    List<String> sent = new CopyOnWriteArrayList<>();
    AtomicLong deletedAt = new AtomicLong(Long.MAX_VALUE);
    BatchSender hbase = (actions, results) -> {
      Row action = actions.get(0).action();
      boolean later = System.currentTimeMillis() > deletedAt.get();
      sent.add(action.getClass().getSimpleName() + (later ? " later" : ""));
      deletedAt.set(action instanceof Delete ? System.currentTimeMillis() : Long.MAX_VALUE);
      Arrays.fill(results, Result.EMPTY_RESULT);
    };
    HBaseOptions options = Rows.options("version", "server-time", "flush.rows", rows, "flush.interval-ms", NEVER);
    try (MutationSender sender = new MutationSender(options, hbase, () -> false, "test")) {
      for (int i = 0; i < 20; i++) {
        sender.add(Rows.change(new Delete(Bytes.toBytes("r")).addFamily(Bytes.toBytes("d"))));
        sender.add(Rows.change(
            new Put(Bytes.toBytes("r")).addColumn(Bytes.toBytes("d"), Bytes.toBytes("v"), Bytes.toBytes("x"))));
        sender.flush();
      }
      assertEquals(40, sender.sent().mutations());
    }
    assertEquals(IntStream.range(0, 40).mapToObj(i -> i % 2 == 0 ? "Delete" : "Put later").toList(), sent);
  }

  @Test
  void aFullBufferGoesOutByItself() throws Exception {
    FakeHBase hbase = new FakeHBase();
    try (MutationSender sender = sender(hbase, "2", NEVER)) {
      sender.add(put(1));
      sender.add(put(2));
      assertEquals(2, hbase.batches.poll(10, TimeUnit.SECONDS));
    }
  }

  @Test
  void bytesFillABufferToo() throws Exception {
    FakeHBase hbase = new FakeHBase();
    HBaseOptions options = Rows.options("flush.bytes", "50", "flush.interval-ms", NEVER);
    try (MutationSender sender = new MutationSender(options, hbase, () -> false, "test")) {
      sender.add(put(1));
      assertEquals(1, hbase.batches.poll(10, TimeUnit.SECONDS));
    }
  }

  @Test
  void theFirstFailureIsFinal() throws Exception {
    FakeHBase hbase = new FakeHBase();
    hbase.error = new IOException("region moved");
    try (MutationSender sender = sender(hbase, "1000", NEVER)) {
      sender.add(put(1));
      IOException first = assertThrows(HBaseWriteException.class, sender::flush);
      hbase.error = null;
      assertSame(first, assertThrows(IOException.class, () -> sender.add(put(2))));
      assertSame(first, assertThrows(IOException.class, sender::flush));
      assertEquals(1, hbase.batches.size(), "nothing is sent after a failure");
    }
  }

  @Test
  void oneFailedResultFailsTheBatch() throws Exception {
    FakeHBase hbase = new FakeHBase();
    hbase.answer = new NoSuchColumnFamilyException("no family 'd'");
    try (MutationSender sender = sender(hbase, "1000", NEVER)) {
      sender.add(put(1));
      sender.add(put(2));
      HBaseWriteException e = assertThrows(HBaseWriteException.class, sender::flush);
      assertTrue(e.fatal());
      assertTrue(e.getMessage().startsWith(HBaseWriteException.FATAL), e.getMessage());
      assertTrue(e.getMessage().contains("table 'orders' failed: 1 of 2 mutations"), e.getMessage());
      assertFalse(e.getMessage().contains("row1"), "rows are data and are named by their hash");
      assertEquals(0, sender.sent().mutations());
    }
  }

  @Test
  void aMissingResultFailsTheBatch() throws Exception {
    FakeHBase hbase = new FakeHBase();
    hbase.answer = null;
    try (MutationSender sender = sender(hbase, "1000", NEVER)) {
      sender.add(put(1));
      HBaseWriteException e = assertThrows(HBaseWriteException.class, sender::flush);
      assertFalse(e.fatal());
      assertTrue(e.getMessage().startsWith(HBaseWriteException.RETRYABLE), e.getMessage());
    }
  }

  @Test
  void aBatchThatHangsIsGivenUp() throws Exception {
    FakeHBase hbase = new FakeHBase();
    hbase.slow = true;
    HBaseOptions options = Rows.options("operation-timeout-ms", "1000");
    try (MutationSender sender = new MutationSender(options, hbase, () -> false, "test")) {
      sender.add(put(1));
      HBaseWriteException e = assertThrows(HBaseWriteException.class, sender::flush);
      assertFalse(e.fatal());
      assertTrue(e.getMessage().startsWith(HBaseWriteException.EXPIRED), e.getMessage());
      assertTrue(e.getMessage().contains("not answered within 1.0 s"), e.getMessage());
      assertSame(e, assertThrows(IOException.class, () -> sender.add(put(2))));
    }
    assertEquals(0, hbase.inFlight.get());
  }

  @Test
  void aTimeoutOfTheUsersOwnIsNotTheCheckpoints() throws Exception {
    FakeHBase hbase = new FakeHBase();
    hbase.slow = true;
    HBaseOptions options = Rows.options("operation-timeout-ms", "60000", "hbase.client.operation.timeout", "1000");
    try (MutationSender sender = new MutationSender(options, hbase, () -> false, "test")) {
      sender.add(put(1));
      HBaseWriteException e = assertThrows(HBaseWriteException.class, sender::flush);
      assertTrue(e.getMessage().startsWith(HBaseWriteException.RETRYABLE), e.getMessage());
      assertTrue(e.getMessage().contains("hbase.client.operation.timeout in sink.hbase.properties"), e.getMessage());
    }
  }

  @Test
  void whatTheClientGivesUpWhenItsTimeIsOverIsTheCheckpoints() throws Exception {
    BatchSender late = (changes, results) -> {
      Thread.sleep(950);
      throw new IOException("15 attempts");
    };
    HBaseOptions options = Rows.options("operation-timeout-ms", "1000");
    try (MutationSender sender = new MutationSender(options, late, () -> false, "test")) {
      sender.add(put(1));
      HBaseWriteException e = assertThrows(HBaseWriteException.class, sender::flush);
      assertTrue(e.getMessage().startsWith(HBaseWriteException.EXPIRED), e.getMessage());
      assertTrue(e.getCause().getMessage().contains("15 attempts"), e.getCause().getMessage());
    }
  }

  @Test
  void aCrashOfTheSenderIsNotAWaitForEver() {
    BatchSender broken = (actions, results) -> {
      throw new StackOverflowError("deep");
    };
    try (MutationSender sender = new MutationSender(Rows.options(), broken, () -> false, "test")) {
      assertThrows(IOException.class, () -> {
        sender.add(put(1));
        sender.flush();
      });
    }
  }

  @Test
  void abortSendsNothing() throws Exception {
    FakeHBase hbase = new FakeHBase();
    MutationSender sender = sender(hbase, "1000", "200");
    sender.add(put(1));
    sender.abort();
    assertEquals(null, hbase.batches.poll(400, TimeUnit.MILLISECONDS));
    assertThrows(IOException.class, () -> sender.add(put(2)));
    assertThrows(IOException.class, sender::flush);
    sender.abort();
    sender.close();
    assertTrue(hbase.batches.isEmpty());
  }

  @Test
  void closeSendsNothing() throws Exception {
    FakeHBase hbase = new FakeHBase();
    MutationSender sender = sender(hbase, "1000", "200");
    sender.add(put(1));
    sender.close();
    assertEquals(null, hbase.batches.poll(400, TimeUnit.MILLISECONDS));
  }

  @Test
  void abortBreaksOffWhatIsInFlight() throws Exception {
    FakeHBase hbase = new FakeHBase();
    hbase.slow = true;
    MutationSender sender = sender(hbase, "1", NEVER);
    sender.add(put(1));
    assertTrue(hbase.entered.await(10, TimeUnit.SECONDS));
    sender.abort();
    assertEquals(0, hbase.inFlight.get(), "after abort no thread of ours is in HBase");
    assertTrue(hbase.batches.isEmpty());
  }

  @Test
  void abortWorksOnAnInterruptedThread() throws Exception {
    FakeHBase hbase = new FakeHBase();
    hbase.slow = true;
    MutationSender sender = sender(hbase, "1", NEVER);
    sender.add(put(1));
    assertTrue(hbase.entered.await(10, TimeUnit.SECONDS));
    Thread.currentThread().interrupt();
    sender.abort();
    assertTrue(Thread.interrupted(), "the interrupt is kept");
    assertEquals(0, hbase.inFlight.get());
  }

  @Test
  void anInterruptedTaskDoesNotWait() throws Exception {
    FakeHBase hbase = new FakeHBase();
    hbase.slow = true;
    try (MutationSender sender = sender(hbase, "1", NEVER)) {
      sender.add(put(1));
      Thread.currentThread().interrupt();
      assertThrows(InterruptedIOException.class, sender::flush);
      assertTrue(Thread.interrupted());
    }
  }

  @Test
  void aCancelledTaskSendsNothing() throws Exception {
    FakeHBase hbase = new FakeHBase();
    try (MutationSender sender = new MutationSender(Rows.options(), hbase, () -> true, "test")) {
      sender.add(put(1));
      assertThrows(InterruptedIOException.class, sender::flush);
      assertTrue(hbase.batches.isEmpty());
    }
  }
}
