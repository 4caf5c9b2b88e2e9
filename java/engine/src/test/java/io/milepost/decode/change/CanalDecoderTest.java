package io.milepost.decode.change;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.milepost.decode.Changes;
import io.milepost.decode.Decoding;
import io.milepost.record.Reason;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class CanalDecoderTest {
  private static final String DDL = "id INT NOT NULL, name STRING, weight DOUBLE";

  private final ChangeDecoder decoder = Changes.decoder("canal-json", DDL, "row-key", "id");

  /** As Canal 1.1 writes it: names in alphabetical order, every value a text. */
  private static String message(String type, String data, String old) {
    return "{\"data\":" + data + ",\"database\":\"inventory\",\"es\":1589373560000,\"id\":9,\"isDdl\":false,"
        + "\"mysqlType\":{\"id\":\"INTEGER\"},\"old\":" + old + ",\"pkNames\":[\"id\"],\"sql\":\"\","
        + "\"sqlType\":{\"id\":4},\"table\":\"products\",\"ts\":1589373560798,\"type\":\"" + type + "\"}";
  }

  private static String row(int id, String name, String weight) {
    return "{\"id\":\"" + id + "\",\"name\":\"" + name + "\",\"weight\":\"" + weight + "\"}";
  }

  @Test
  void eachOperationTakesTheData() throws Exception {
    String data = "[" + row(111, "scooter", "5.18") + "]";
    assertEquals(List.of("+[111, scooter, 5.18]"), Changes.of(decoder, null, message("INSERT", data, "null")));
    assertEquals(List.of("+[111, scooter, 5.18]"), Changes.of(decoder, null, message("UPDATE", data, "[{\"weight\":\"5.15\"}]")));
    assertEquals(List.of("-[111, scooter, 5.18]"), Changes.of(decoder, null, message("DELETE", data, "null")));
  }

  @Test
  void eachRowOfAMessageIsAChange() throws Exception {
    String data = "[" + row(1, "a", "1") + "," + row(2, "b", "2") + "]";
    assertEquals(List.of("-[1, a, 1.0]", "-[2, b, 2.0]"), Changes.of(decoder, null, message("DELETE", data, "null")));
  }

  @Test
  void anUpdateThatMovesARowDeletesTheOldKeyWhereTheRowKeyIsKnown() throws Exception {
    String moved = message("UPDATE", "[" + row(2, "a", "1") + "]", "[{\"id\":\"1\",\"name\":null}]");
    assertEquals(List.of("-[1, null, 1.0]", "+[2, a, 1.0]"), Changes.of(decoder, null, moved));
    assertEquals(List.of("+[2, a, 1.0]"), Changes.of(Changes.decoder("canal-json", DDL), null, moved));
  }

  @Test
  void aKeyThatAnotherRowOfTheMessageTakesIsNotDeleted() throws Exception {
    String shifted = message("UPDATE", "[" + row(2, "a", "1") + "," + row(3, "b", "2") + "]", "[{\"id\":\"1\"},{\"id\":\"2\"}]");
    assertEquals(List.of("-[1, a, 1.0]", "+[2, a, 1.0]", "+[3, b, 2.0]"), Changes.of(decoder, null, shifted));
  }

  @ParameterizedTest
  @ValueSource(strings = {"CREATE", "ALTER", "RENAME", "CINDEX", "DINDEX", "QUERY", "TIDB_WATERMARK"})
  void whatChangesNoRowIsPassedOver(String type) throws Exception {
    assertEquals(List.of(), Changes.of(decoder, null, message(type, "null", "null")));
  }

  @Test
  void aTombstoneNamesNoRow() throws Exception {
    assertEquals(List.of(), Changes.of(decoder, "1", null));
  }

  @ParameterizedTest
  @CsvSource(quoteCharacter = '\'', value = {
      "UNKNOWN_OP, '{\"type\":\"TRUNCATE\",\"isDdl\":true,\"data\":null}'", "UNKNOWN_OP, '{\"type\":\"ERASE\",\"isDdl\":true}'",
      "UNKNOWN_OP, '{\"type\":\"insert\",\"data\":[]}'", "UNKNOWN_OP, '{\"type\":null}'", "UNKNOWN_OP, '{\"type\":{\"a\":[]}}'",
      "WRONG_SCHEMA, '{\"data\":[{\"id\":\"1\"}]}'", "WRONG_SCHEMA, '{\"type\":\"INSERT\",\"data\":null}'",
      "WRONG_SCHEMA, '{\"type\":\"INSERT\",\"data\":[]}'", "WRONG_SCHEMA, '{\"type\":\"INSERT\",\"data\":[null]}'",
      "WRONG_SCHEMA, '{\"type\":\"INSERT\",\"data\":{\"id\":\"1\"}}'", "WRONG_SCHEMA, '{\"type\":\"INSERT\",\"data\":[{\"name\":\"a\"}]}'",
      "WRONG_SCHEMA, '{\"type\":\"INSERT\",\"data\":[{\"id\":\"1.0\"}]}'", "WRONG_SCHEMA, '{\"type\":\"INSERT\",\"data\":[{\"id\":\" 1\"}]}'",
      "WRONG_SCHEMA, '{\"type\":\"INSERT\",\"data\":[{\"id\":\"3000000000\"}]}'", "WRONG_SCHEMA, '{\"type\":\"INSERT\",\"data\":[{\"id\":\"1\"},{\"id\":\"x\"}]}'",
      "MALFORMED, '{\"type\":\"INSERT\",\"data\":[{\"id\":\"1\",\"id\":\"2\"}]}'", "MALFORMED, '{\"type\":\"INSERT\",\"type\":\"INSERT\"}'",
      "MALFORMED, '{\"type\":'", "NULL_DOCUMENT, null",
  })
  void aMessageThatCannotBeReadIsBad(Reason reason, String value) {
    Changes.refused(reason, decoder, null, value);
  }

  @ParameterizedTest
  @CsvSource({
      "BIGINT, -9223372036854775808, -9223372036854775808", "SMALLINT, 007, 7", "TINYINT, -128, -128", "FLOAT, 1.5E1, 15.0",
      "DOUBLE, -0.0, -0.0", "'DECIMAL(20, 2)', 12345678901234567.1, 12345678901234567.10", "BOOLEAN, 1, true", "BOOLEAN, false, false",
      "DATE, 1970-01-02, 1", "TIMESTAMP_NTZ, 1970-01-01 00:00:01.5, 1500000", "STRING, 5, 5",
  })
  void aTextBecomesTheColumnsType(String type, String text, String expected) throws Exception {
    ChangeDecoder one = Changes.decoder("canal-json", "v " + type);
    assertEquals(List.of("+[" + expected + "]"),
        Changes.of(one, null, "{\"type\":\"INSERT\",\"data\":[{\"v\":\"" + text + "\"}]}"));
  }

  @ParameterizedTest
  @CsvSource({"TINYINT, 128", "DOUBLE, 1e999", "DOUBLE, NaN", "DOUBLE, 0x1p3", "FLOAT, 1e39", "BOOLEAN, yes", "INT, +1", "INT, ''",
      "INT, ١", "'DECIMAL(3, 1)', 100.0", "'DECIMAL(38, 0)', 1e999999999", "BINARY, Ā"})
  void aTextThatIsNotOfTheColumnsTypeIsBad(String type, String text) {
    ChangeDecoder one = Changes.decoder("canal-json", "v " + type);
    Changes.refused(Reason.WRONG_SCHEMA, one, null, "{\"type\":\"INSERT\",\"data\":[{\"v\":\"" + text + "\"}]}");
  }

  @Test
  void bytesStandAsOneCharacterEach() throws Exception {
    ChangeDecoder one = Changes.decoder("canal-json", "v BINARY");
    List<Change> changes = one.decode(null, Decoding.utf8("{\"type\":\"INSERT\",\"data\":[{\"v\":\"\\u0000A\\u00ff\"}]}"));
    assertArrayEquals(new byte[] {0, 'A', (byte) 0xff}, (byte[]) changes.get(0).values()[0]);
  }
}
