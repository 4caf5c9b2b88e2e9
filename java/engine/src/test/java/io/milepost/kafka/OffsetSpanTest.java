package io.milepost.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class OffsetSpanTest {
  @Test
  void spansAddUpOverTopicsAndPartitions() {
    assertEquals(17, OffsetSpan.records("{\"a\":{\"0\":5,\"1\":0},\"b\":{\"0\":7}}",
        "{\"a\":{\"0\":10,\"1\":10},\"b\":{\"0\":9}}"));
  }

  @Test
  void aNewPartitionCountsFromItsBeginningAndNothingCountsTwice() {
    assertEquals(4, OffsetSpan.records("{\"a\":{\"0\":5}}", "{\"a\":{\"0\":5,\"1\":4}}"));
    assertEquals(0, OffsetSpan.records("{\"a\":{\"0\":5}}", "{\"a\":{\"0\":3}}"));
  }

  @Test
  void whatIsNoOffsetIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> OffsetSpan.records("{", "{}"));
  }
}
