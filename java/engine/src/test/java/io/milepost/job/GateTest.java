package io.milepost.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class GateTest {
  private final Gate gate = new Gate();

  @Test
  void closedAtFirst() {
    assertFalse(gate.admits("a"));
  }

  @Test
  void openLetsOneRoundThrough() {
    gate.open();
    assertTrue(gate.admits("a"));
    assertFalse(gate.admits("a"));
    assertEquals(1, gate.rounds());
  }

  @Test
  void allSourcesOfARoundGetTheSameAnswer() {
    gate.open();
    assertTrue(gate.admits("a"));
    assertTrue(gate.admits("b"));
    assertFalse(gate.admits("a"));
    assertFalse(gate.admits("b"));
  }

  @Test
  void openInTheMiddleOfARoundDoesNotTearTheCut() {
    assertFalse(gate.admits("a"));
    gate.open();
    assertFalse(gate.admits("b"));
    assertTrue(gate.admits("a"));
    assertTrue(gate.admits("b"));
  }

  @Test
  void openTwiceIsOneRound() {
    gate.open();
    gate.open();
    assertTrue(gate.admits("a"));
    assertFalse(gate.admits("a"));
  }

  @Test
  void freeLetsEveryRoundThrough() {
    gate.free();
    assertTrue(gate.admits("a"));
    assertTrue(gate.admits("a"));
  }

  @Test
  void anOpenedGateWakesTheWaitingEngine() throws Exception {
    CompletableFuture<Boolean> answer = ask();
    assertTrue(gate.awaitIdle(5_000));
    gate.open();
    // The engine may have gone round once in between; it then asks again, as Spark does.
    while (!answer.get(5, TimeUnit.SECONDS)) {
      answer = ask();
    }
    assertEquals(1, gate.rounds());
  }

  @Test
  void heldKeepsTheEngineUntilItIsInterrupted() throws Exception {
    gate.hold();
    Throwable[] thrown = {null};
    Thread engine = new Thread(() -> thrown[0] = assertThrows(UncheckedIOException.class, () -> gate.admits("a")));
    engine.start();
    assertTrue(gate.awaitParked(5_000));
    engine.interrupt();
    engine.join(5_000);
    assertInstanceOf(InterruptedIOException.class, thrown[0].getCause());
    assertFalse(gate.isParked());
  }

  @Test
  void nothingOpensAHeldGate() throws Exception {
    gate.hold();
    gate.open();
    gate.free();
    CompletableFuture<Boolean> answer = ask();
    assertTrue(gate.awaitParked(5_000));
    assertFalse(answer.isDone());
  }

  @Test
  void awaitIdleWaitsForTheEngineToComeBack() throws Exception {
    gate.open();
    assertTrue(gate.admits("a"));
    assertFalse(gate.awaitIdle(50), "the batch is still running");
    ask();
    assertTrue(gate.awaitIdle(5_000));
  }

  private CompletableFuture<Boolean> ask() {
    CompletableFuture<Boolean> answer = new CompletableFuture<>();
    Thread engine = new Thread(() -> answer.complete(gate.admits("a")));
    engine.setDaemon(true);
    engine.start();
    return answer;
  }
}
