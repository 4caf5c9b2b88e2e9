package io.milepost.hbase.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mapping.KafkaColumn;
import io.milepost.hbase.mutation.BatchSender;
import io.milepost.hbase.mutation.MutationSender;
import io.milepost.hbase.mutation.RowChange;
import io.milepost.job.LiveAcks;
import io.milepost.record.BadRecords;
import io.milepost.record.RejectedRecordException;
import io.milepost.sink.WriterId;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.client.Result;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class HBaseDataWriterTest {
  private static final StructType SCHEMA = Rows.schema(DataTypes.StringType);
  private static final HBaseOptions OPTIONS = Rows.options("op", "op");

  private final LiveAcks acks = new LiveAcks();
  private final List<RowChange> sent = new ArrayList<>();

  private HBaseDataWriter writer(int partition, String policy) {
    BatchSender hbase = (actions, results) -> {
      sent.addAll(actions);
      Arrays.fill(results, Result.EMPTY_RESULT);
    };
    return new HBaseDataWriter(new WriterId(partition, 1, 77, Rows.EPOCH), KafkaColumn.of(SCHEMA),
        Mutations.converter(OPTIONS, SCHEMA), new MutationSender(OPTIONS, hbase, () -> false, "test"),
        BadRecords.of(Map.of("bad-records", policy)), acks);
  }

  @Test
  void theAcknowledgementAccountsForEveryRow() throws IOException {
    HBaseDataWriter writer = writer(2, "skip");
    writer.write(Rows.row("a", "1", "c", Rows.kafka(10)));
    writer.write(Rows.row("a", "2", "u", Rows.kafka(11)));
    writer.write(Rows.row("b", null, "d", Rows.kafka(12)));
    writer.write(Rows.row("c", null, "u", Rows.kafka(13)));
    writer.write(Rows.row("c", "x", "UPDATE_BEFORE", Rows.kafka(14)));
    writer.write(Rows.row("c", "x", "?", Rows.kafka(15)));
    writer.write(Rows.row("", "x", "c", Rows.kafka(9)));
    WriterCommitMessage[] acks = {writer.commit()};
    writer.close();
    HBaseCommitMessage.crossCheck(acks, 1, Rows.EPOCH);
    JsonNode ack = new ObjectMapper().readTree(HBaseCommitMessage.toJson(acks)).get(0);
    assertEquals(2, sent.size(), "two puts of one row are one");
    assertTrue(ack.get("bytes").asLong() > 0 && ack.has("flush-ms"));
    assertEquals("{\"partition\":2,\"attempt\":1,\"task\":77,\"epoch\":7,\"rows\":7,\"puts\":2,\"deletes\":1,\"noops\":1,"
        + "\"ignored\":1,\"bad\":{\"BAD_ROW_KEY\":1,\"UNKNOWN_OP\":1},\"write\":\"mutations\",\"mutations\":2,"
        + "\"bytes\":" + ack.get("bytes") + ",\"flushes\":1,\"flush-ms\":" + ack.get("flush-ms")
        + ",\"direct\":0,\"superseded\":0,\"offsets\":{\"topic\":{\"3\":[9,15]}}}", ack.toString());
  }

  @Test
  void whoeverLooksOnSeesTheSameAcknowledgement() throws IOException {
    HBaseDataWriter writer = writer(1, "fail");
    writer.write(Rows.row("a", "1", "c", Rows.kafka(10)));
    assertEquals(0, acks.acknowledged());
    String sealed = HBaseCommitMessage.toJson(new WriterCommitMessage[] {writer.commit()});
    writer.close();
    assertEquals("{\"epoch\":7,\"writers\":0,\"acknowledged\":1,\"acks\":" + sealed + "}", acks.json());
  }

  @Test
  void aWriterThatFailsAcknowledgesToNobody() throws IOException {
    HBaseDataWriter writer = writer(1, "fail");
    writer.write(Rows.row("a", "1", "c", Rows.kafka(10)));
    writer.abort();
    assertThrows(IOException.class, writer::commit);
    assertEquals(0, acks.acknowledged());
  }

  @Test
  void aBadRecordStopsTheTaskByDefault() {
    HBaseDataWriter writer = writer(0, "fail");
    RejectedRecordException e = assertThrows(RejectedRecordException.class,
        () -> writer.write(Rows.row("", "x", "c", Rows.kafka(9))));
    assertTrue(e.getMessage().contains("BAD_ROW_KEY at topic-3@9"), e.getMessage());
    writer.abort();
    writer.close();
    assertTrue(sent.isEmpty());
  }

  @Test
  void abortAndCloseSendNothing() throws IOException {
    HBaseDataWriter writer = writer(0, "fail");
    writer.write(Rows.row("a", "1", "c", Rows.kafka(10)));
    writer.abort();
    writer.close();
    assertThrows(IOException.class, writer::commit);
    assertTrue(sent.isEmpty());
  }

  @Test
  void acknowledgementsThatDoNotFitAreRefused() throws IOException {
    WriterCommitMessage first = writer(0, "fail").commit();
    WriterCommitMessage second = writer(1, "fail").commit();
    HBaseCommitMessage.crossCheck(new WriterCommitMessage[] {first, second}, 2, Rows.EPOCH);
    assertUnsealed("2 of 3 writers", 3, Rows.EPOCH, first, second);
    assertUnsealed("does not fit", 2, Rows.EPOCH, first, first);
    assertUnsealed("does not fit", 2, Rows.EPOCH + 1, first, second);
    assertUnsealed("has not acknowledged", 2, Rows.EPOCH, first, null);
  }

  private static void assertUnsealed(String part, int writers, long epoch, WriterCommitMessage... acks) {
    IllegalStateException e = assertThrows(IllegalStateException.class,
        () -> HBaseCommitMessage.crossCheck(acks, writers, epoch));
    assertTrue(e.getMessage().contains(part), e.getMessage());
  }
}
