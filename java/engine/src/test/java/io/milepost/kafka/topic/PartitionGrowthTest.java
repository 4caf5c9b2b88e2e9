package io.milepost.kafka.topic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.job.Coordinator;
import io.milepost.job.Job;
import io.milepost.job.Jobs;
import io.milepost.version.Eras;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PartitionGrowthTest {
  private static final long BEGUN = 1_000_000_000L;
  private final List<String> stored = new ArrayList<>();
  private CompletableFuture<Map<String, Eras.Topic>> answer = saying(2);
  private long now = BEGUN;
  private String verdict = "";
  private Job job;
  private PartitionGrowth growth;

  private static CompletableFuture<Map<String, Eras.Topic>> saying(int partitions) {
    return CompletableFuture.completedFuture(Map.of("t", new Eras.Topic("a", partitions)));
  }

  @BeforeEach
  void begin() {
    job = Jobs.create("growth");
    job.setEras("{\"t\":{\"id\":\"a\",\"begun\":0,\"eras\":[{\"generation\":0,\"order\":\"offset\",\"from\":{\"0\":0,\"1\":0}}]}}",
        BEGUN);
    job.setCoordinator(new Coordinator() {
      @Override
      public String seal(long checkpointId, String report) {
        return "";
      }

      @Override
      public String keepVersions(String eras) {
        stored.add(eras);
        return verdict;
      }

      @Override
      public void committed(long checkpointId) {}
    });
    growth = new PartitionGrowth(() -> answer, () -> {}, job, 600_000, () -> now);
  }

  @AfterEach
  void end() {
    Jobs.remove("growth");
  }

  private long version(int partition, long offset) {
    return job.eras().of("t").version(partition, offset, now);
  }

  @Test
  void nothingIsStoredWhileNothingGrows() {
    growth.atBoundary("{\"t\":{\"0\":5,\"1\":5}}");
    growth.planned("{\"t\":{\"0\":3,\"1\":3}}");
    growth.requireNotGrown();
    assertTrue(stored.isEmpty());
    assertEquals(4, version(0, 4));
  }

  @Test
  void anEraBeginsWithTheBatchInWhichTheGrowthIsSeenAndIsDurableFirst() {
    answer = saying(3);
    growth.atBoundary("{\"t\":{\"0\":5,\"1\":5}}");
    growth.planned("{\"t\":{\"0\":3,\"1\":4}} ");
    growth.requireNotGrown();
    assertEquals(List.of(job.eras().toJson()), stored);
    assertEquals(2, version(0, 2));
    assertEquals(1, version(0, 3) >>> 48);
    assertEquals(1, version(2, 0) >>> 48);
  }

  @Test
  void whatSparkHasSeenCountsAlsoWhereTheBrokersAnswerIsOlder() {
    growth.atBoundary("{\"t\":{\"0\":5,\"1\":5,\"2\":7},\"new\":{\"0\":1}}");
    growth.planned("{\"t\":{\"0\":3,\"1\":4}}");
    assertEquals(1, version(2, 0) >>> 48);
    assertNull(job.eras().of("new"));
  }

  @Test
  void whatCannotBeStoredIsNotInForce() {
    verdict = "another driver has taken over";
    answer = saying(3);
    assertThrows(IllegalStateException.class, () -> growth.planned("{\"t\":{\"0\":3,\"1\":4}}"));
    assertEquals(3, version(0, 3));
  }

  @Test
  void aBatchThatIsRunAgainAsksForItself() {
    answer = saying(3);
    growth.planned("{\"t\":{\"0\":3,\"1\":4}}");
    assertEquals(1, stored.size());
  }

  @Test
  void anAnswerThatIsLateIsLookedAtByTheSeal() {
    answer = new CompletableFuture<>();
    growth.atBoundary("{\"t\":{\"0\":5,\"1\":5}}");
    growth.planned("{\"t\":{\"0\":3,\"1\":4}}");
    answer.complete(Map.of("t", new Eras.Topic("a", 3)));
    assertThrows(PartitionsGrownException.class, growth::requireNotGrown);
    answer = saying(3);
    growth.planned("{\"t\":{\"0\":3,\"1\":4}}");
    growth.requireNotGrown();
    assertEquals(1, version(0, 3) >>> 48);
  }

  @Test
  void anOpenEndedBatchIsAskedAboutWhenItIsOver() {
    growth.atBoundary("{\"t\":{\"0\":5,\"1\":5}}");
    growth.plannedOpenEnded("{\"t\":{\"0\":5,\"1\":5}}");
    growth.requireNotGrown();
    answer = saying(3);
    String told = assertThrows(PartitionsGrownException.class, growth::requireNotGrown).getMessage();
    assertEquals("MILEPOST_PARTITIONS_GROWN topic t has 3 partitions and had 2", told);
    answer = CompletableFuture.failedFuture(new IllegalStateException("down"));
    assertThrows(PartitionsGrownException.class, growth::requireNotGrown);
  }

  @Test
  void aBrokerThatDoesNotAnswerIsNoFaultOfABoundedBatch() {
    answer = CompletableFuture.failedFuture(new IllegalStateException("down"));
    growth.atBoundary("{\"t\":{\"0\":5,\"1\":5}}");
    growth.planned("{\"t\":{\"0\":3,\"1\":4}}");
    growth.requireNotGrown();
    assertTrue(stored.isEmpty());
  }

  @Test
  void theTransitionEndsAtTheEndOfTheLogNotAtTheBatchs() {
    answer = saying(3);
    growth.planned("{\"t\":{\"0\":3,\"1\":4}}");
    now += 600_000;
    growth.atBoundary("{\"t\":{\"0\":50,\"1\":50,\"2\":50}}");
    growth.planned("{\"t\":{\"0\":5,\"1\":5,\"2\":5}}");
    assertEquals(2, stored.size());
    assertEquals(1, version(0, 49) >>> 48);
    assertEquals(2L << 48 | 50, version(0, 50));
  }

  @Test
  void aJobWhoseVersionsAreNoOffsetsIsNotWatched() {
    Job other = Jobs.create("other");
    try {
      assertNull(PartitionGrowth.of(Map.of("transition-ms", "1"), other));
      assertNull(PartitionGrowth.of(Map.of(), job));
    } finally {
      Jobs.remove("other");
    }
  }
}
