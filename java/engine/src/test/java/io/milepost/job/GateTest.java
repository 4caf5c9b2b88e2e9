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
    assertFalse(admits("a"));
  }

  @Test
  void openLetsOneRoundThrough() {
    gate.open();
    assertTrue(admits("a"));
    assertFalse(admits("a"));
    assertEquals(1, gate.rounds());
  }

  @Test
  void allSourcesOfARoundGetTheSameAnswer() {
    gate.open();
    assertTrue(admits("a"));
    assertTrue(admits("b"));
    assertFalse(admits("a"));
    assertFalse(admits("b"));
  }

  @Test
  void openInTheMiddleOfARoundDoesNotTearTheCut() {
    assertFalse(admits("a"));
    gate.open();
    assertFalse(admits("b"));
    assertTrue(admits("a"));
    assertTrue(admits("b"));
  }

  @Test
  void openTwiceIsOneRound() {
    gate.open();
    gate.open();
    assertTrue(admits("a"));
    assertFalse(admits("a"));
  }

  @Test
  void freeLetsEveryRoundThrough() {
    gate.free();
    assertTrue(admits("a"));
    assertTrue(admits("a"));
  }

  @Test
  void anOpenedGateWakesTheWaitingEngine() throws Exception {
    CompletableFuture<Boolean> answer = ask();
    gate.open();
    // The engine may have gone round once in between; it then asks again, as Spark does.
    while (!answer.get(5, TimeUnit.SECONDS)) {
      answer = ask();
    }
    assertEquals(1, gate.rounds());
  }

  @Test
  void openWantsABatchEvenWithoutNewRecords() {
    gate.open();
    assertEquals(Gate.Answer.GO_EVEN_IF_EMPTY, gate.ask("a"));
    assertEquals(Gate.Answer.GO_EVEN_IF_EMPTY, gate.ask("b"));
  }

  @Test
  void aFreeGateWantsNoEmptyBatchUnlessItIsOpenedToo() {
    gate.free();
    assertEquals(Gate.Answer.GO, gate.ask("a"));
    gate.open();
    assertEquals(Gate.Answer.GO_EVEN_IF_EMPTY, gate.ask("a"));
    assertEquals(Gate.Answer.GO, gate.ask("a"));
  }

  @Test
  void itKnowsWhetherTheRunningBatchWasLetThrough() {
    admits("a");
    assertFalse(gate.hasAdmitted(), "what runs now, Spark began by itself");
    gate.open();
    admits("a");
    assertTrue(gate.hasAdmitted());
  }

  @Test
  void heldKeepsTheEngineUntilItIsInterrupted() throws Exception {
    gate.hold();
    Throwable[] thrown = {null};
    Thread engine = new Thread(() -> thrown[0] = assertThrows(UncheckedIOException.class, () -> gate.ask("a")));
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

  private boolean admits(String source) {
    return gate.ask(source) != Gate.Answer.WAIT;
  }

  private CompletableFuture<Boolean> ask() {
    CompletableFuture<Boolean> answer = new CompletableFuture<>();
    Thread engine = new Thread(() -> answer.complete(admits("a")));
    engine.setDaemon(true);
    engine.start();
    return answer;
  }
}
