package io.milepost.kafka.topic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.Test;

class TopicIdsTest {
  private final Deque<CompletableFuture<Map<String, String>>> questions = new ArrayDeque<>();
  private final AtomicBoolean closed = new AtomicBoolean();
  private final TopicIds ids = new TopicIds(Map.of("a", "id-a", "b", "id-b"), this::ask, () -> closed.set(true));

  private CompletionStage<Map<String, String>> ask() {
    questions.add(new CompletableFuture<>());
    return questions.getLast();
  }

  private String faultAfter(Map<String, String> answer) {
    ids.request();
    questions.removeLast().complete(answer);
    return ids.fault();
  }

  @Test
  void theSameIdsAreFine() {
    assertNull(faultAfter(Map.of("a", "id-a", "b", "id-b")));
  }

  @Test
  void anotherIdIsAnotherTopic() {
    assertEquals("topic b was deleted and created again: its id is id-c and was id-b",
        faultAfter(Map.of("a", "id-a", "b", "id-c")));
  }

  @Test
  void aTopicThatIsGoneWasDeleted() {
    assertEquals("topic a was deleted", faultAfter(Map.of("b", "id-b")));
  }

  @Test
  void whatIsOnceWrongStaysWrongAndIsNotAskedAgain() {
    faultAfter(Map.of("b", "id-b"));
    ids.request();
    assertTrue(questions.isEmpty());
    assertEquals("topic a was deleted", ids.fault());
  }

  @Test
  void topicsThatComeAreKnownFromThenOn() {
    assertNull(faultAfter(Map.of("a", "id-a", "b", "id-b", "c", "id-c")));
    assertEquals("{\"a\":\"id-a\",\"b\":\"id-b\",\"c\":\"id-c\"}", ids.known());
    assertEquals("topic c was deleted", faultAfter(Map.of("a", "id-a", "b", "id-b")));
  }

  @Test
  void anOpenQuestionIsNotRepeatedAndItsLateAnswerCounts() {
    ids.request();
    ids.request();
    assertEquals(1, questions.size());
    assertNull(ids.fault());
    questions.removeLast().complete(Map.of("a", "id-a"));
    assertEquals("topic b was deleted", ids.fault());
  }

  @Test
  void whoWaitsHearsOfTheAnswerAsItComes() throws Exception {
    ids.request();
    CompletableFuture<String> heard = CompletableFuture.supplyAsync(() -> {
      try {
        return ids.faultWithin(60_000);
      } catch (InterruptedException e) {
        return e.toString();
      }
    });
    questions.removeLast().complete(Map.of("a", "id-a"));
    assertEquals("topic b was deleted", heard.get(30, TimeUnit.SECONDS));
  }

  @Test
  void whoWaitsIsNotKeptLongerThanHeWants() throws Exception {
    ids.request();
    assertNull(ids.faultWithin(1));
    ids.close();
    assertNull(ids.faultWithin(60_000));
  }

  @Test
  void aBrokerThatDoesNotAnswerIsNoFaultAndIsAskedAgain() {
    ids.request();
    questions.removeLast().completeExceptionally(new TimeoutException("no node"));
    assertNull(ids.fault());
    assertEquals("topic a was deleted", faultAfter(Map.of("b", "id-b")));
  }

  @Test
  void aClientThatThrowsIsNoFaultEither() {
    AtomicBoolean threw = new AtomicBoolean();
    TopicIds broken = new TopicIds(Map.of("a", "id-a"), () -> {
      threw.set(true);
      throw new IllegalStateException("closed");
    }, () -> { });
    broken.request();
    assertTrue(threw.getAndSet(false));
    assertNull(broken.fault());
    broken.request();
    assertTrue(threw.get());
  }

  @Test
  void afterTheCloseNothingIsAsked() {
    ids.close();
    ids.request();
    assertTrue(questions.isEmpty());
    assertTrue(closed.get());
  }

  /** Nobody listens there: the first thing that would block must not. */
  @Test
  void aBrokerThatIsAwayDoesNotKeepTheEngine() {
    Map<String, String> options = Map.of("kafka.bootstrap.servers", "127.0.0.1:1", "subscribe", "a");
    try (TopicIds away = new TopicIds(options, "{\"a\":\"id-a\"}")) {
      long start = System.nanoTime();
      away.request();
      assertNull(away.fault());
      assertFalse(System.nanoTime() - start > 2_000_000_000L, "it waited");
    }
    assertThrows(IllegalArgumentException.class, () -> new TopicIds(options, "[1]"));
  }
}
