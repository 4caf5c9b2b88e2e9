package io.milepost.kafka.reader;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.decode.Decoders;
import io.milepost.record.BadRecords;
import io.milepost.record.Reason;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.kafka010.KafkaSourcePartitionOffset;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** A record of a change log that has several rows, one, or none. */
class DecodingReaderTest {
  private static final Map<String, String> CANAL = Map.of("format", "canal-json", "schema", "id INT");
  private static final String TWO = "{\"type\":\"DELETE\",\"data\":[{\"id\":\"1\"},{\"id\":\"2\"}]}";
  private static final String ONE = "{\"type\":\"INSERT\",\"data\":[{\"id\":\"3\"}]}";
  private static final String NONE = "{\"type\":\"ALTER\",\"isDdl\":true}";
  private static final String BAD = "{\"type\":\"TRUNCATE\",\"isDdl\":true}";

  private final BadRecords badRecords = BadRecords.of(Map.of("bad-records", "skip"));

  @Test
  void everyRowOfEveryRecordIsRead() throws Exception {
    DecodingReader reader = reader(TWO, NONE, BAD, ONE);
    assertNext(reader, 1, 0, true);
    assertNext(reader, 2, 0, true);
    assertNext(reader, 3, 3, false);
    assertFalse(reader.next());
    assertEquals(Map.of(Reason.NO_CHANGE, 1L, Reason.UNKNOWN_OP, 1L), badRecords.counts());
  }

  @Test
  void aBatchThatEndsInsideARecordEndsBeforeIt() throws Exception {
    DecodingReader reader = reader(ONE, TWO);
    assertTrue(reader.nextWithTimeout(0L, 1L).hasRecord());
    assertEquals(1, offset(reader));
    assertTrue(reader.nextWithTimeout(0L, 1L).hasRecord());
    assertEquals(1, offset(reader), "the second row is not out yet");
    assertTrue(reader.nextWithTimeout(0L, 1L).hasRecord());
    assertEquals(2, offset(reader));
    assertFalse(reader.nextWithTimeout(0L, 1L).hasRecord());
  }

  @Test
  void whatChangesNoRowIsCountedUnderEveryPolicy() throws Exception {
    BadRecords strict = BadRecords.of(Map.of());
    assertFalse(new DecodingReader(new Log(NONE), decoder(), strict).next());
    assertEquals(Map.of(Reason.NO_CHANGE, 1L), strict.counts());
  }

  private static void assertNext(DecodingReader reader, int id, long offset, boolean tombstone) throws Exception {
    assertTrue(reader.next());
    InternalRow origin = reader.get().getStruct(1, RecordSchema.ORIGIN.size());
    assertEquals(id, reader.get().getInt(0));
    assertEquals(offset, origin.getLong(2));
    assertEquals(tombstone, origin.getBoolean(5));
  }

  private DecodingReader reader(String... values) {
    return new DecodingReader(new Log(values), decoder(), badRecords);
  }

  private static RowDecoder decoder() {
    return new ChangeRowDecoder(Decoders.schema(CANAL), Decoders.changes(CANAL));
  }

  private static long offset(DecodingReader reader) {
    return ((KafkaSourcePartitionOffset) reader.getOffset()).partitionOffset();
  }

  /** Stands for Spark's reader of one partition. */
  private static final class Log implements SupportsRealTimeRead<InternalRow> {
    private final List<String> values;
    private int next;

    Log(String... values) {
      this.values = List.of(values);
    }

    @Override
    public boolean next() {
      return next++ < values.size();
    }

    @Override
    public RecordStatus nextWithTimeout(Long startTimeMs, Long timeoutMs) {
      return RecordStatus.newStatusWithoutArrivalTime(next());
    }

    @Override
    public InternalRow get() {
      byte[] value = values.get(next - 1).getBytes(StandardCharsets.UTF_8);
      return new GenericInternalRow(new Object[] {null, value, UTF8String.fromString("t"), 0, next - 1L, 0L, 0});
    }

    @Override
    public PartitionOffset getOffset() {
      return new KafkaSourcePartitionOffset(new TopicPartition("t", 0), next);
    }

    @Override
    public void close() {}
  }
}
