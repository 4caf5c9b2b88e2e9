package io.milepost.sink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.junit.jupiter.api.Test;

class WriterAckTest {
  private static final class Ack extends WriterAck {
    private final long rows;

    Ack(int partition, long epoch, long rows) {
      super(new WriterId(partition, 1, 77, epoch));
      this.rows = rows;
    }

    @Override
    protected void describe(ObjectNode json) {
      json.put("rows", rows);
    }

    @Override
    protected boolean addsUp() {
      return rows >= 0;
    }
  }

  private static WriterCommitMessage[] acks(WriterCommitMessage... acks) {
    return acks;
  }

  private static void refused(int writers, String why, WriterCommitMessage... acks) {
    String said = assertThrows(IllegalStateException.class, () -> WriterAck.crossCheck(acks, writers, 5)).getMessage();
    assertTrue(said.contains(why), said);
  }

  @Test
  void eachWriterOnceAddsUp() {
    WriterAck.crossCheck(acks(new Ack(0, 5, 1), new Ack(1, 5, 0)), 2, 5);
    WriterAck.crossCheck(acks(new Ack(0, 5, 0)), 0, 5);
  }

  @Test
  void whatDoesNotAddUpIsNotSealed() {
    refused(2, "1 of 2 writers", new Ack(0, 5, 1));
    refused(2, "does not fit", new Ack(0, 5, 1), new Ack(0, 5, 1));
    refused(1, "does not fit", new Ack(0, 4, 1));
    refused(1, "does not fit", new Ack(0, 5, -1));
    refused(1, "has not acknowledged", (WriterCommitMessage) null);
  }

  @Test
  void whoLooksOnSeesWhatIsSealed() {
    Ack ack = new Ack(2, 5, 9);
    assertEquals("[" + ack.live().json() + "]", WriterAck.toJson(acks(ack)));
    assertEquals("{\"partition\":2,\"attempt\":1,\"task\":77,\"epoch\":5,\"rows\":9}", ack.live().json());
  }
}
