package io.milepost.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.milepost.record.Reason;
import io.milepost.watermark.LateRecords;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JobTest {
  private static final String ACKS = "[{\"rows\":3,\"puts\":2,\"deletes\":1,\"bad\":{\"BAD_ROW_KEY\":1}},"
      + "{\"rows\":4,\"puts\":4,\"bad\":{}}]";

  private final Job job = new Job("j");

  @Test
  void rejectionsOfSourceAndSinkAreOneCountPerCheckpoint() throws Exception {
    List<String> reports = new ArrayList<>();
    job.setCoordinator(coordinator(new ArrayList<>(), reports, ""));
    job.rejected().add(Map.of(Reason.MALFORMED, 5L, Reason.BAD_ROW_KEY, 1L));
    job.seal(0, ACKS);
    job.rejected().add(Map.of(Reason.MALFORMED, 2L));
    job.seal(1, "[]");
    assertEquals("{\"MALFORMED\":5,\"BAD_ROW_KEY\":2}", read(reports.get(0)).path("rejected").toString());
    assertEquals("{\"MALFORMED\":2}", read(reports.get(1)).path("rejected").toString());
    assertEquals(1, status().path("sealed").asLong());
  }

  @Test
  void aReportHasTheLateRecordsOfItsOwnEpoch() throws Exception {
    List<String> reports = new ArrayList<>();
    job.setCoordinator(coordinator(new ArrayList<>(), reports, ""));
    job.late().add(new LateRecords.Counted(0, 0, 0, Map.of("t", 3L)));
    job.seal(0, ACKS);
    job.seal(1, ACKS);
    assertEquals("{\"t\":3}", read(reports.get(0)).path("late").toString());
    assertEquals("{}", read(reports.get(1)).path("late").toString());
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
  void theSizeOfABatchIsThatOfAllItsSourcesAndTakenOnce() {
    job.sourcePlanned("a", 100);
    job.sourcePlanned("a", 5); // Spark may plan a batch again
    job.sourcePlanned("b", 2);
    assertEquals(7, job.takePlannedRecords());
    job.sourcePlanned("b", 3); // of a source without new records Spark plans nothing
    assertEquals(3, job.takePlannedRecords());
    assertEquals(0, job.takePlannedRecords());
  }

  @Test
  void acknowledgementsStartAnewWithEachBatch() throws Exception {
    job.acks().begin(4, 2, List.of(0L));
    job.acks().add(new LiveAcks.Ack(4, 0, "{}"));
    assertEquals(1, status().path("acknowledged").asLong());
    job.acks().begin(5, 3, List.of());
    assertEquals(0, status().path("acknowledged").asLong());
    assertEquals(3, status().path("tasks").asLong());
  }

  @Test
  void theCoordinatorHearsOfEachSealAndEachCommitOnce() {
    List<String> heard = new ArrayList<>();
    job.setCoordinator(coordinator(heard, ""));
    job.atGate();
    job.seal(4, ACKS);
    job.seal(4, ACKS);
    job.atGate();
    job.atGate();
    assertEquals(List.of("seal 4", "committed 4"), heard);
  }

  @Test
  void aDeclinedCheckpointFailsItsBatchAndCountsNothing() throws Exception {
    job.setCoordinator(coordinator(new ArrayList<>(), "ledger said no"));
    Exception declined = assertThrows(CheckpointDeclinedException.class, () -> job.seal(4, ACKS));
    assertTrue(declined.getMessage().endsWith("Checkpoint 4: ledger said no"));
    assertEquals(-1, status().path("sealed").asLong());
  }

  @Test
  void theWriterConfirmsEachEpochAndItsFaultIsReported() throws Exception {
    List<String> reports = new ArrayList<>();
    job.setCoordinator(new Coordinator() {
      @Override
      public String seal(long checkpointId, String report) {
        reports.add(report);
        return "";
      }

      @Override
      public String keepVersions(String eras) {
        return "";
      }

      @Override
      public void committed(long checkpointId) {}
    });
    job.seal(0, ACKS);
    job.setWriterWatch(epoch -> epoch == 2 ? "another job has it" : null);
    job.seal(1, ACKS);
    job.seal(2, ACKS);
    List<String> faults = new ArrayList<>();
    for (String report : reports) {
      faults.add(new ObjectMapper().readTree(report).path("writer-fault").asText());
    }
    assertEquals(List.of("null", "null", "another job has it"), faults);
  }

  @Test
  void aJobRunsOnceAtATime() {
    Jobs.create("once");
    assertThrows(IllegalStateException.class, () -> Jobs.create("once"));
    Jobs.remove("once");
    assertThrows(IllegalStateException.class, () -> Jobs.of("once"));
  }

  private static Coordinator coordinator(List<String> heard, String answer) {
    return coordinator(heard, new ArrayList<>(), answer);
  }

  private static Coordinator coordinator(List<String> heard, List<String> reports, String answer) {
    return new Coordinator() {
      @Override
      public String seal(long checkpointId, String report) {
        heard.add("seal " + checkpointId);
        reports.add(report);
        return answer;
      }

      @Override
      public String keepVersions(String eras) {
        heard.add("versions " + eras);
        return answer;
      }

      @Override
      public void committed(long checkpointId) {
        heard.add("committed " + checkpointId);
      }
    };
  }

  private JsonNode status() throws Exception {
    return read(job.status());
  }

  private static JsonNode read(String json) throws Exception {
    return new ObjectMapper().readTree(json);
  }
}
