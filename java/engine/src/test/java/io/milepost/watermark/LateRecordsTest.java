package io.milepost.watermark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

class LateRecordsTest {
  private final LateRecords late = new LateRecords();

  @Test
  void tasksAndOperatorsAddUpByTopic() {
    late.add(new LateRecords.Counted(3, 0, 0, Map.of("a", 2L, "b", 1L)));
    late.add(new LateRecords.Counted(3, 0, 1, Map.of("a", 5L)));
    late.add(new LateRecords.Counted(3, 1, 0, Map.of("b", 4L)));
    assertEquals(Map.of("a", 7L, "b", 5L), late.of(3));
  }

  @Test
  void aTaskThatIsRunAgainCountsOnce() {
    late.add(new LateRecords.Counted(3, 0, 0, Map.of("a", 2L)));
    late.add(new LateRecords.Counted(3, 0, 0, Map.of("a", 2L)));
    assertEquals(Map.of("a", 2L), late.of(3));
  }

  @Test
  void anEpochHasItsOwnRecordsOnly() {
    late.add(new LateRecords.Counted(3, 0, 0, Map.of("a", 2L)));
    assertTrue(late.of(4).isEmpty());
    late.add(new LateRecords.Counted(4, 0, 1, Map.of("a", 1L)));
    late.add(new LateRecords.Counted(3, 0, 2, Map.of("a", 9L)));
    assertEquals(Map.of("a", 1L), late.of(4));
    assertTrue(late.of(3).isEmpty());
  }

  @Test
  void theDriverMergesWhatTasksSend() {
    LateRecords task = late.copy();
    task.add(new LateRecords.Counted(3, 0, 0, Map.of("a", 2L)));
    late.merge(task);
    late.merge(task);
    assertEquals(Map.of("a", 2L), late.of(3));
  }
}
