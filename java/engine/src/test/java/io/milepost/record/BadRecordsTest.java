package io.milepost.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

class BadRecordsTest {
  private static final Origin ORIGIN = new Origin("orders", 2, 17);

  @Test
  void failNamesTheRecordAndTheReason() {
    BadRecords fail = BadRecords.of(Map.of());
    RuntimeException thrown = assertThrows(RejectedRecordException.class,
        () -> fail.reject(ORIGIN, Reason.MALFORMED, "cut off"));
    assertTrue(thrown.getMessage().contains("MALFORMED at orders-2@17: cut off"), thrown.getMessage());
  }

  @Test
  void skipCountsByReason() {
    BadRecords skip = BadRecords.of(Map.of("bad-records", "skip"));
    skip.reject(ORIGIN, Reason.MALFORMED, "");
    skip.reject(ORIGIN, Reason.MALFORMED, "");
    skip.reject(ORIGIN, Reason.UNKNOWN_OP, "", null, null);
    assertEquals(Map.of(Reason.MALFORMED, 2L, Reason.UNKNOWN_OP, 1L), skip.counts());
  }

  @Test
  void aRowWithoutARecordCannotBeSkipped() {
    BadRecords skip = BadRecords.of(Map.of("bad-records", "skip"));
    assertThrows(RejectedRecordException.class, () -> skip.reject(null, Reason.BAD_ROW_KEY, "empty"));
  }

  @Test
  void anUnknownPolicyAndADeadLetterWithoutTopicAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> BadRecords.of(Map.of("bad-records", "ignore")));
    assertThrows(IllegalArgumentException.class, () -> BadRecords.of(Map.of("bad-records", "dead-letter")));
  }
}
