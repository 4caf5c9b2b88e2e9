package io.milepost.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class CoordinatorCallsTest {
  private final CoordinatorCalls calls = new CoordinatorCalls();

  @Test
  void theEngineWaitsForTheAnswerToItsSeal() throws Exception {
    CompletableFuture<String> verdict = CompletableFuture.supplyAsync(() -> calls.seal(4, "{\"writers\":[]}"));
    String call = calls.next(5_000);
    assertTrue(call.contains("\"call\":\"seal\",\"id\":4,\"report\":\"{\\\"writers"), call);
    calls.answer(3, "of another checkpoint");
    calls.answer(4, "no");
    assertEquals("no", verdict.get(5, TimeUnit.SECONDS));
  }

  @Test
  void aCommitIsLeftAndNotWaitedFor() throws Exception {
    calls.committed(4);
    calls.committed(5);
    assertTrue(calls.next(0).contains("\"id\":4"));
    assertTrue(calls.next(0).contains("\"id\":5"));
    assertNull(calls.next(0));
  }

  @Test
  void whoWaitsIsDeclinedWhenNobodyFetchesAnyMore() throws Exception {
    CompletableFuture<String> verdict = CompletableFuture.supplyAsync(() -> calls.seal(4, "{}"));
    calls.next(5_000);
    calls.close();
    assertTrue(verdict.get(5, TimeUnit.SECONDS).contains("not there any more"));
    assertNull(calls.next(60_000));
  }

  @Test
  void aStopEndsTheWait() throws Exception {
    Throwable[] thrown = {null};
    Thread engine =
        new Thread(() -> thrown[0] = assertThrows(UncheckedIOException.class, () -> calls.seal(4, "{}")));
    engine.start();
    calls.next(5_000);
    engine.interrupt();
    engine.join(5_000);
    assertInstanceOf(InterruptedIOException.class, thrown[0].getCause());
  }
}
