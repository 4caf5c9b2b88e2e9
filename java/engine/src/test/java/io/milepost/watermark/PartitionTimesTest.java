package io.milepost.watermark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PartitionTimesTest {
  private static final Set<String> BOTH = Set.of("t-0", "t-1");

  private final PartitionTimes times = new PartitionTimes();

  @Test
  void theSlowestPartitionCounts() {
    times.observe("t", 0, 100);
    times.observe("t", 1, 20);
    times.observe("t", 0, 90);
    assertEquals(OptionalLong.of(20), times.slowest(BOTH));
  }

  @Test
  void nobodyKnowsTheTimeOfAPartitionWithoutARecord() {
    assertEquals(OptionalLong.empty(), times.slowest(BOTH));
    times.observe("t", 0, 100);
    assertEquals(OptionalLong.empty(), times.slowest(BOTH));
  }

  @Test
  void aPartitionThatCameLaterCountsOnceItHasARecord() {
    times.observe("t", 0, 100);
    times.observe("t", 1, 90);
    times.observe("t", 2, 5);
    assertEquals(OptionalLong.of(5), times.slowest(BOTH));
  }

  @Test
  void topicsAreToldApart() {
    times.observe("t", 0, 100);
    times.observe("u", 0, 7);
    assertEquals(Map.of("t-0", 100L, "u-0", 7L), times.value());
  }

  @Test
  void whatTasksSawIsPutTogetherAndTwiceIsOnce() {
    times.observe("t", 0, 100);
    PartitionTimes task = new PartitionTimes();
    task.observe("t", 0, 50);
    task.observe("t", 1, 70);
    times.merge(task);
    times.merge(task.copy());
    assertEquals(Map.of("t-0", 100L, "t-1", 70L), times.value());
  }

  @Test
  void aCopyOfNothingIsNothing() {
    times.observe("t", 0, 1);
    assertEquals(times.value(), times.copy().value());
    times.reset();
    assertTrue(times.isZero());
    assertTrue(((PartitionTimes) times.copyAndReset()).isZero());
  }

  @Test
  void aRecordWithoutATimePassesAndSaysNothing() {
    ObserveFunction observe = new ObserveFunction(times);
    assertTrue(observe.call("t", 0, null));
    assertTrue(times.isZero());
    assertTrue(observe.call("t", 0, 3L));
    assertEquals(Map.of("t-0", 3L), times.value());
  }
}
