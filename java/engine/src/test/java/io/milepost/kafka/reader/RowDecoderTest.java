package io.milepost.kafka.reader;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.decode.Decoders;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class RowDecoderTest {
  private static final Map<String, String> JSON = Map.of("format", "json", "schema", "id STRING, n BIGINT");

  @Test
  void aRecordBecomesItsColumnsAndItsOrigin() throws Exception {
    InternalRow row = decoder(JSON, "id").decode(record("k", "{\"id\":\"a\",\"n\":7}"));
    assertEquals("a", row.getString(0));
    assertEquals(7, row.getLong(1));
    InternalRow origin = row.getStruct(2, RecordSchema.ORIGIN.size());
    assertEquals("topic", origin.getString(0));
    assertEquals(3, origin.getInt(1));
    assertEquals(42, origin.getLong(2));
    assertArrayEquals(bytes("k"), origin.getBinary(4));
    assertFalse(origin.getBoolean(5));
  }

  @Test
  void aTombstoneHasItsKeyAndNothingElse() throws Exception {
    RowDecoder decoder = decoder(JSON, "id");
    decoder.decode(record("k", "{\"id\":\"a\",\"n\":7}"));
    InternalRow row = decoder.decode(record("k", null));
    assertEquals("k", row.getString(0));
    assertTrue(row.isNullAt(1), "nothing may be left of the record before");
    assertTrue(row.getStruct(2, RecordSchema.ORIGIN.size()).getBoolean(5));
  }

  @Test
  void aTombstonesKeyTakesTheColumnsType() throws Exception {
    Map<String, String> numbered = Map.of("format", "json", "schema", "id BIGINT");
    assertEquals(17, decoder(numbered, "id").decode(record("17", null)).getLong(0));
    assertReason(Reason.BAD_ROW_KEY, decoder(numbered, "id"), record("seventeen", null));
    Map<String, String> small = Map.of("format", "json", "schema", "id TINYINT");
    assertReason(Reason.BAD_ROW_KEY, decoder(small, "id"), record("300", null));
  }

  @Test
  void aTombstoneWithoutAKeyIsBad() {
    assertReason(Reason.BAD_ROW_KEY, decoder(JSON, "id"), record(null, null));
  }

  @Test
  void emptyNullDocumentAndTheStringNullAreThreeThings() {
    assertReason(Reason.EMPTY_VALUE, decoder(JSON, "id"), record("k", ""));
    assertReason(Reason.NULL_DOCUMENT, decoder(JSON, "id"), record("k", "null"));
    assertReason(Reason.WRONG_SCHEMA, decoder(JSON, "id"), record("k", "\"null\""));
  }

  private static void assertReason(Reason reason, RowDecoder decoder, InternalRow record) {
    assertEquals(reason, assertThrows(BadRecordException.class, () -> decoder.decode(record)).reason());
  }

  private static RowDecoder decoder(Map<String, String> options, String keyColumn) {
    return new RowDecoder(Decoders.schema(options), Decoders.of(options), keyColumn);
  }

  private static InternalRow record(String key, String value) {
    return new GenericInternalRow(new Object[] {
        bytes(key), bytes(value), UTF8String.fromString("topic"), 3, 42L, 1_000_000L, 0});
  }

  private static byte[] bytes(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }
}
