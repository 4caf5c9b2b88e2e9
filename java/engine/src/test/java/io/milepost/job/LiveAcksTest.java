package io.milepost.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import org.junit.jupiter.api.Test;

class LiveAcksTest {
  private final LiveAcks acks = new LiveAcks();

  private static LiveAcks.Ack ack(long epoch, int partition, int rows) {
    return new LiveAcks.Ack(epoch, partition, "{\"partition\":" + partition + ",\"rows\":" + rows + "}");
  }

  /** As a task's copy comes back to the driver. */
  private void taskEnds(LiveAcks.Ack ack) {
    LiveAcks task = (LiveAcks) acks.copyAndReset();
    assertTrue(task.isZero());
    task.add(ack);
    acks.merge(task);
  }

  @Test
  void nOfMIsKnownWhileTheBatchRuns() throws Exception {
    acks.begin(3, 2, List.of());
    assertEquals("{\"epoch\":3,\"writers\":2,\"acknowledged\":0,\"acks\":[]}", acks.json());
    taskEnds(ack(3, 1, 20));
    taskEnds(ack(3, 0, 10));
    JsonNode json = new ObjectMapper().readTree(acks.json());
    assertEquals(2, json.path("acknowledged").asInt());
    assertEquals("[{\"partition\":0,\"rows\":10},{\"partition\":1,\"rows\":20}]", json.path("acks").toString());
  }

  @Test
  void theOperatorsWithStateAreKnownFromTheBeginningOfTheirEpochOn() {
    acks.begin(3, 2, List.of(0L, 1L));
    taskEnds(ack(3, 1, 20));
    assertEquals(List.of(0L, 1L), acks.states());
    acks.begin(4, 2, List.of());
    assertEquals(List.of(), acks.states());
  }

  @Test
  void aSecondAttemptOfATaskIsNotCountedTwice() {
    acks.begin(3, 2, List.of());
    taskEnds(ack(3, 0, 10));
    taskEnds(ack(3, 0, 11));
    assertEquals(1, acks.acknowledged());
    assertTrue(acks.json().contains("\"rows\":10"), acks.json());
  }

  @Test
  void anOldEpochsAcknowledgementsDoNotStayAndDoNotComeBack() {
    acks.begin(3, 2, List.of());
    taskEnds(ack(3, 0, 10));
    acks.begin(4, 1, List.of());
    assertEquals(0, acks.acknowledged());
    taskEnds(ack(3, 1, 20));
    assertEquals(0, acks.acknowledged());
    taskEnds(ack(4, 0, 1));
    assertEquals(1, acks.acknowledged());
    assertEquals(4, acks.epoch());
  }

  @Test
  void anEpochThatNobodyAnnouncedIsTakenFromItsFirstTask() {
    taskEnds(ack(0, 0, 1));
    assertEquals("{\"epoch\":0,\"writers\":0,\"acknowledged\":1,\"acks\":[{\"partition\":0,\"rows\":1}]}", acks.json());
  }

  @Test
  void anEpochThatBeginsAgainHasNoAcknowledgementYet() {
    acks.begin(3, 2, List.of());
    taskEnds(ack(3, 0, 10));
    acks.begin(3, 2, List.of());
    assertEquals(0, acks.acknowledged());
  }
}
