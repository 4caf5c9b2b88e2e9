package io.milepost.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class StopOffsetsTest {
  private final StopOffsets ends = StopOffsets.of("{\"t\":{\"0\":10,\"1\":5}}");

  @Test
  void unboundedIsNeverReached() {
    assertFalse(StopOffsets.of(null).reachedBy("{\"t\":{\"0\":99}}"));
  }

  @Test
  void reachedWhenEveryPartitionIsThere() {
    assertFalse(ends.reachedBy("{\"t\":{\"0\":10,\"1\":4}}"));
    assertTrue(ends.reachedBy("{\"t\":{\"0\":10,\"1\":5}}"));
    assertTrue(ends.reachedBy("{\"t\":{\"0\":11,\"1\":5}}"));
  }

  @Test
  void aPartitionThatHasNotBeenSeenStandsAtZero() {
    assertFalse(ends.reachedBy("{\"t\":{\"0\":10}}"));
    assertTrue(StopOffsets.of("{\"t\":{\"0\":0}}").reachedBy("{}"));
  }

  @Test
  void limitCutsEachPartitionDownToItsEnd() {
    assertEquals("{\"t\":{\"0\":10,\"1\":3}}", ends.limited("{\"t\":{\"0\":12,\"1\":3}}"));
  }

  @Test
  void aPartitionFoundAfterTheEndsWereTakenIsNotRead() {
    assertEquals("{\"t\":{\"0\":1,\"2\":0}}", ends.limited("{\"t\":{\"0\":1,\"2\":7}}"));
  }

  @Test
  void whatIsNoOffsetIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> StopOffsets.of("latest"));
  }
}
