package io.milepost.kafkasink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TransactionalProducerTest {
  private static final KafkaSinkOptions OPTIONS = new KafkaSinkOptions(Map.of("producer.bootstrap.servers", "localhost:1",
      "transactional-id-prefix", "job", "transaction-timeout-ms", "60000", "kafka.group.id", "of the source"));

  /** The fields that are set by their names are there in this version of the client. */
  @Test
  void aResumedTransactionIsTheOneThatWasLeftOpen() {
    OpenTransaction left = new OpenTransaction("job-1-0", 4711, (short) 12);
    TransactionalProducer producer = TransactionalProducer.resume(OPTIONS, left);
    try {
      assertEquals(left, producer.open());
    } finally {
      producer.leave();
    }
  }

  @Test
  void aTransactionSurvivesTheManifest() {
    OpenTransaction left = new OpenTransaction("job-1-0", Long.MAX_VALUE, Short.MAX_VALUE);
    assertEquals(List.of(left), OpenTransaction.parse("[" + left.json() + "]"));
  }

  @Test
  void checkpointsTakeTurnsAndWritersHaveTheirOwn() {
    assertEquals("job-1-3", OPTIONS.transactionalId(7, 3));
    assertEquals(OPTIONS.transactionalId(7, 3), OPTIONS.transactionalId(9, 3));
    assertNotEquals(OPTIONS.transactionalId(7, 3), OPTIONS.transactionalId(8, 3));
    assertTrue(OPTIONS.isOurs(OPTIONS.transactionalId(8, 12)));
    assertFalse(OPTIONS.isOurs("job-2-1"), "another job's, whose prefix is job-2");
    assertFalse(OPTIONS.isOurs("job-b-1-0"));
  }

  @Test
  void theSinkHasPropertiesOfItsOwn() {
    Map<String, Object> properties = OPTIONS.producerProperties("job-0-0");
    assertEquals("all", properties.get("acks"));
    assertEquals("60000", properties.get("transaction.timeout.ms"));
    assertFalse(properties.containsKey("group.id"));
  }
}
