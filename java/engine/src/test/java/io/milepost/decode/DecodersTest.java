package io.milepost.decode;

import static io.milepost.decode.Decoding.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class DecodersTest {
  private static final String AVRO = "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"id\",\"type\":\"string\"}]}";

  @Test
  void schemaOfEachFormat() {
    assertEquals("key BINARY,value BINARY", ddl(Map.of("format", "raw")));
    assertEquals("key STRING,value STRING", ddl(Map.of("format", "string")));
    assertEquals("id STRING NOT NULL,n INT", ddl(Map.of("format", "json", "schema", "id STRING NOT NULL, n INT")));
    assertEquals("id STRING NOT NULL", ddl(Map.of("format", "avro", "schema", AVRO)));
  }

  @Test
  void rawPassesEveryByte() throws BadRecordException {
    RecordDecoder raw = Decoders.of(Map.of("format", "raw"));
    byte[] key = {0, -1};
    byte[] value = {};
    Object[] out = new Object[2];
    raw.decode(key, value, out);
    assertSame(key, out[0]);
    assertSame(value, out[1]);
    raw.decode(null, value, out);
    assertNull(out[0]);
  }

  @Test
  void stringIsStrictUtf8() throws BadRecordException {
    RecordDecoder string = Decoders.of(Map.of("format", "string"));
    Object[] out = new Object[2];
    string.decode(null, utf8(""), out);
    assertArrayEquals(new Object[] {null, UTF8String.fromString("")}, out);
    string.decode(utf8("k\u0000"), utf8("é\ud83d\ude00"), out);
    assertArrayEquals(new Object[] {UTF8String.fromString("k\u0000"), UTF8String.fromString("é\ud83d\ude00")}, out);
    byte[] bad = {'a', 'b', (byte) 0xed, (byte) 0xa0, (byte) 0x80};
    assertEquals("the value is not UTF-8 at byte 2", malformed(string, null, bad));
    assertEquals("the key is not UTF-8 at byte 2", malformed(string, bad, utf8("v")));
  }

  @Test
  void whatLiesBeyondTheColumnsIsLeftAlone() throws BadRecordException {
    Object[] out = {null, "beyond"};
    Decoders.of(Map.of("format", "json", "schema", "n INT")).decode(utf8("k"), utf8("{}"), out);
    assertArrayEquals(new Object[] {null, "beyond"}, out);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
      "           |                                | format:",
      "xml        |                                | format: `xml`",
      "json       |                                | schema: it is missing",
      "avro       |                                | schema: it is missing",
      "json       | a NONSENSE                     | schema: not a column list",
      "json       | a INT,                         | schema: not a column list",
      "json       | a INT, a STRING                | schema: the column `a` is declared twice",
      "json       | s STRUCT<a: INT, a: INT>       | schema: the field `a` is declared twice",
      "json       | _kafka INT                     | schema: the source adds a column `_kafka`",
      "json       | s STRUCT<v: VARCHAR(3)>        | schema: the field `s.v` is declared VARCHAR(3); declare STRING",
      "json       | c CHAR(3)                      | schema: the field `c`",
      "json       | a ARRAY<INTERVAL DAY>          | schema: the field `a[]`",
      "json       | v VARIANT                      | schema: the field `v`",
      "json       | m MAP<INT, INT>                | schema: the field `m`",
      "avro       | {                              | schema: not an Avro schema",
      "avro       | {\"type\":\"nonsense\"}        | schema: not an Avro schema",
      "avro       | \"string\"                     | schema: the Avro schema is of type string",
      "avro       | {\"type\":\"record\",\"name\":\"R\",\"fields\":[]} | schema: the Avro record R has no field",
      "avro       | {\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"r\",\"type\":[\"null\",\"R\"]}]} | schema: the Avro record R",
      "avro       | {\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"_kafka\",\"type\":\"int\"}]} | schema: the source adds a column `_kafka`",
  })
  void impossibleOptionIsNamed(String format, String schema, String sentence) {
    Map<String, String> options = new HashMap<>();
    put(options, "format", format);
    put(options, "schema", schema);
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> Decoders.of(options));
    assertTrue(e.getMessage().startsWith(sentence), e.getMessage());
  }

  @Test
  void confluentHeaderIsTrueOrFalse() {
    Map<String, String> options = Map.of("format", "avro", "schema", AVRO, "avro.confluent-header", "yes");
    assertTrue(assertThrows(IllegalArgumentException.class, () -> Decoders.of(options)).getMessage()
        .startsWith("avro.confluent-header: `yes`"));
  }

  private static String ddl(Map<String, String> options) {
    return Decoders.schema(options).toDDL();
  }

  private static void put(Map<String, String> options, String key, String value) {
    if (value != null) {
      options.put(key, value);
    }
  }

  private static String malformed(RecordDecoder decoder, byte[] key, byte[] value) {
    BadRecordException e = assertThrows(BadRecordException.class, () -> decoder.decode(key, value, new Object[2]));
    assertEquals(Reason.MALFORMED, e.reason());
    return e.getMessage();
  }
}
