package io.milepost.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.milepost.record.Reason;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JobTest {
  private static final String ACKS = "[{\"rows\":3,\"puts\":2,\"deletes\":1,\"bad\":{\"BAD_ROW_KEY\":1}},"
      + "{\"rows\":4,\"puts\":4,\"bad\":{}}]";

  private final Job job = new Job("j");

  @Test
  void sealingTheSameEpochAgainCountsNothing() throws Exception {
    job.sealed(0, ACKS);
    job.sealed(0, ACKS);
    assertEquals(7, status().path("totals").path("rows").asLong());
    assertEquals(0, status().path("sealed").asLong());
  }

  @Test
  void rejectionsOfSourceAndSinkAreOneCount() throws Exception {
    job.rejected().add(Map.of(Reason.MALFORMED, 5L, Reason.BAD_ROW_KEY, 1L));
    job.sealed(0, ACKS);
    assertEquals(5, status().path("rejected").path("MALFORMED").asLong());
    assertEquals(2, status().path("rejected").path("BAD_ROW_KEY").asLong());
  }

  @Test
  void finishedWhenEverySourceIs() {
    assertFalse(job.isFinished());
    job.sourceAt("a", "{}");
    job.sourceAt("b", "{}");
    job.sourceFinished("a");
    assertFalse(job.isFinished());
    job.sourceFinished("b");
    assertTrue(job.isFinished());
  }

  @Test
  void acknowledgementsStartAnewWithEachBatch() throws Exception {
    job.batchStarted(4, 2);
    job.taskAcknowledged();
    assertEquals(1, status().path("acknowledged").asLong());
    job.batchStarted(5, 3);
    assertEquals(0, status().path("acknowledged").asLong());
    assertEquals(3, status().path("tasks").asLong());
  }

  @Test
  void aJobRunsOnceAtATime() {
    Jobs.create("once");
    assertThrows(IllegalStateException.class, () -> Jobs.create("once"));
    Jobs.remove("once");
    assertThrows(IllegalStateException.class, () -> Jobs.of("once"));
  }

  private JsonNode status() throws Exception {
    return new ObjectMapper().readTree(job.status());
  }
}
