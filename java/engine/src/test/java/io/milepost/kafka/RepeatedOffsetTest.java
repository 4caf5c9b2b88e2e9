package io.milepost.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.spark.sql.connector.read.streaming.Offset;
import org.junit.jupiter.api.Test;

class RepeatedOffsetTest {
  private static final Offset FIVE = new Offset() {
    @Override
    public String json() {
      return "{\"t\":{\"0\":5}}";
    }
  };

  @Test
  void itIsAnotherOffsetAtTheSamePosition() {
    Offset repeated = RepeatedOffset.after(FIVE);
    assertNotEquals(FIVE, repeated);
    assertSame(FIVE, RepeatedOffset.strip(repeated));
  }

  @Test
  void repeatedTwiceItIsTheFirstAgain() {
    assertEquals(FIVE, RepeatedOffset.after(RepeatedOffset.after(FIVE)));
  }

  @Test
  void itSurvivesTheOffsetLog() {
    Offset repeated = RepeatedOffset.after(FIVE);
    assertEquals(repeated, RepeatedOffset.read(repeated.json(), FIVE));
    assertEquals(FIVE, RepeatedOffset.read(FIVE.json(), FIVE));
  }
}
