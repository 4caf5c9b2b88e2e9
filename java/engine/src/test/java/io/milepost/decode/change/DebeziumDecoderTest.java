package io.milepost.decode.change;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.decode.Changes;
import io.milepost.record.Reason;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class DebeziumDecoderTest {
  private static final String DDL = "id INT NOT NULL, name STRING NOT NULL, weight DECIMAL(5, 2)";
  private static final String SOURCE = ",\"source\":{\"connector\":\"mysql\",\"op\":\"x\",\"before\":1},\"ts_ms\":1589362330904}";
  private static final String OLD = "{\"id\":1,\"name\":\"a\",\"weight\":5.18}";
  private static final String NEW = "{\"id\":1,\"name\":\"b\",\"weight\":\"5.15\"}";
  private static final String MOVED = "{\"id\":2,\"name\":\"b\",\"weight\":null}";

  private final ChangeDecoder decoder = Changes.decoder("debezium-json", DDL, "row-key", "id");

  private static String envelope(String op, String before, String after) {
    return "{\"before\":" + before + ",\"after\":" + after + ",\"op\":\"" + op + "\"" + SOURCE;
  }

  @Test
  void eachOperationTakesItsImage() throws Exception {
    assertEquals(List.of("+[1, a, 5.18]"), Changes.of(decoder, null, envelope("c", "null", OLD)));
    assertEquals(List.of("+[1, a, 5.18]"), Changes.of(decoder, null, envelope("r", "null", OLD)));
    assertEquals(List.of("+[1, b, 5.15]"), Changes.of(decoder, null, envelope("u", OLD, NEW)));
    assertEquals(List.of("+[1, b, 5.15]"), Changes.of(decoder, null, envelope("u", "null", NEW)));
    assertEquals(List.of("-[1, a, 5.18]"), Changes.of(decoder, null, envelope("d", OLD, "null")));
  }

  @Test
  void theSchemaAroundTheEnvelopeIsSkipped() throws Exception {
    String wrapped = "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"op\":1}]},\"payload\":" + envelope("c", "null", OLD) + "}";
    assertEquals(List.of("+[1, a, 5.18]"), Changes.of(decoder, null, wrapped));
    Changes.refused(Reason.NULL_DOCUMENT, decoder, null, "{\"schema\":null,\"payload\":null}");
    Changes.refused(Reason.WRONG_SCHEMA, decoder, null, "{\"payload\":7}");
  }

  @Test
  void anUpdateThatMovesARowDeletesTheOldKeyWhereTheRowKeyIsKnown() throws Exception {
    assertEquals(List.of("-[1, a, 5.18]", "+[2, b, null]"), Changes.of(decoder, null, envelope("u", OLD, MOVED)));
    ChangeDecoder unknown = Changes.decoder("debezium-json", DDL);
    assertEquals(List.of("+[2, b, null]"), Changes.of(unknown, null, envelope("u", OLD, MOVED)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"id\":1}", "{\"schema\":{\"type\":\"struct\"},\"payload\":{\"id\":1}}", "{\"id\":\"1\",\"x\":2}"})
  void aDeleteWithoutAnOldRowAndATombstoneAreNamedByTheKey(String key) throws Exception {
    assertEquals(List.of("-[1, null, null]"), Changes.of(decoder, key, envelope("d", "null", "null")));
    assertEquals(List.of("-[1, null, null]"), Changes.of(decoder, key, envelope("d", "{\"name\":\"a\"}", "null")));
    assertEquals(List.of("-[1, null, null]"), Changes.of(decoder, key, null));
  }

  @ParameterizedTest
  @ValueSource(strings = {"null", "17", "plain", "{\"other\":1}", "{\"id\":\"x\"}", "{\"name\":\"a\"}", ""})
  void aKeyThatDoesNotHaveTheRowKeyNamesNoRow(String key) throws Exception {
    String detail = Changes.refused(Reason.WRONG_SCHEMA, decoder, key, envelope("d", "null", "null"));
    assertTrue(detail.contains("REPLICA IDENTITY FULL"), detail);
    assertEquals(List.of(), Changes.of(decoder, key, null), "its delete came before it");
  }

  @Test
  void aTombstoneWithoutAKeyNamesNoRow() throws Exception {
    assertEquals(List.of(), Changes.of(decoder, null, null));
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "{\"ts_ms\":1589362330904}",
      "{\"source\":{},\"ts_ms\":1,\"databaseName\":\"inventory\",\"ddl\":\"CREATE TABLE t\",\"tableChanges\":[]}",
      "{\"status\":\"END\",\"id\":\"571\",\"event_count\":2,\"data_collections\":[]}",
      "{\"schema\":{},\"payload\":{\"ts_ms\":1}}",
      "{\"op\":\"m\",\"ts_ms\":1,\"source\":{},\"message\":{\"prefix\":\"p\",\"content\":\"Zm9v\"}}",
  })
  void whatChangesNoRowIsPassedOver(String value) throws Exception {
    assertEquals(List.of(), Changes.of(decoder, "{}", value));
  }

  @ParameterizedTest
  @CsvSource(quoteCharacter = '\'', value = {
      "UNKNOWN_OP, '{\"op\":\"t\",\"before\":null,\"after\":null}'",
      "UNKNOWN_OP, '{\"op\":\"x\"}'", "UNKNOWN_OP, '{\"op\":\"C\"}'", "UNKNOWN_OP, '{\"op\":null}'", "UNKNOWN_OP, '{\"op\":1}'", "UNKNOWN_OP, '{\"op\":[{}],\"after\":null}'",
      "WRONG_SCHEMA, '{\"id\":1,\"name\":\"a\"}'", "WRONG_SCHEMA, '{}'", "WRONG_SCHEMA, '[]'",
      "WRONG_SCHEMA, '{\"op\":\"c\",\"after\":null}'", "WRONG_SCHEMA, '{\"op\":\"u\",\"before\":{\"id\":1}}'",
      "WRONG_SCHEMA, '{\"op\":\"c\",\"after\":[1]}'", "WRONG_SCHEMA, '{\"op\":\"c\",\"after\":{\"id\":\"one\",\"name\":\"a\"}}'",
      "WRONG_SCHEMA, '{\"op\":\"c\",\"after\":{\"id\":1}}'", "WRONG_SCHEMA, '{\"op\":\"c\",\"after\":{\"id\":1,\"name\":\"a\",\"weight\":\"5.181\"}}'",
      "MALFORMED, '{\"op\":\"c\",\"after\":{\"id\":1,\"name\":\"a\"}'", "MALFORMED, '{\"op\":\"c\",\"op\":\"c\"}'",
      "MALFORMED, '{\"payload\":{\"op\":\"c\",\"op\":\"d\"}}'", "NULL_DOCUMENT, null", "EMPTY_VALUE, ''",
  })
  void anEnvelopeThatCannotBeReadIsBad(Reason reason, String value) {
    Changes.refused(reason, decoder, null, value);
  }

  @Test
  void whatPostgresLeftOutStaysAsItIs() throws Exception {
    String row = "{\"id\":1,\"name\":\"__debezium_unavailable_value\"}";
    assertEquals(List.of("+[1, null, null]"), Changes.of(decoder, null, envelope("u", "null", row)));
    ChangeDecoder deleting = Changes.decoder("debezium-json", DDL, "nulls", "delete");
    String detail = Changes.refused(Reason.WRONG_SCHEMA, deleting, null, envelope("u", "null", row));
    assertTrue(detail.contains("nulls: skip"), detail);
  }
}
