package io.milepost.decode.json;

import static io.milepost.decode.Decoding.first;
import static io.milepost.decode.Decoding.json;
import static io.milepost.decode.Decoding.refused;
import static io.milepost.decode.Decoding.utf8;
import static io.milepost.decode.Decoding.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.decode.Decoding;
import io.milepost.decode.RecordDecoder;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.nio.charset.Charset;
import java.util.HexFormat;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class JsonDecoderTest {
  private static final String ORDER =
      "id STRING NOT NULL, `order` STRUCT<items: ARRAY<STRUCT<price: DECIMAL(10,2) NOT NULL, qty: INT>>>, "
          + "tags MAP<STRING, INT>, n INT";

  @ParameterizedTest
  @ValueSource(strings = {
      "{", "{\"id\":\"a\"", "{\"id\":\"a", "{\"id\":", "{\"id\"", "{\"n\":1", "{\"n\":1.}", "{\"n\":01}", "{\"n\":+1}",
      "{\"n\":.5}", "{\"n\":-}", "{\"n\":1e}", "{\"n\":NaN}", "{\"n\":Infinity}", "{\"n\":-Infinity}", "{\"n\":INF}",
      "{\"x\":NaN}", "{'id':'a'}", "{id:1}", "{\"id\":\"a\",}", "{\"x\":[1,]}", "{\"x\":[,1]}", "{\"x\" 1}",
      "{\"id\":\"a\"} x", "{\"id\":\"a\"}{}", "{\"id\":\"a\"} 1", "{\"id\":\"a\"}}", "{\"id\":\"a\"}]", "{\"id\":\"a\"],",
      "/*c*/{\"id\":\"a\"}", "{\"id\":\"a\"}//c", "{\"id\":\"a\nb\"}", "{\"id\":\"\\x\"}", "{\"id\":\"\\u12\"}",
      "{\"id\":\"a\",\"n\":truex}", "{\"id\":tru}", " ", "\t\n", "nul", "nullx", "null null", "1 2", "12abc", "[1", "[1] 2",
      "\"abc", "}", "]", ",", ":", "True", "\u0000", "{\"id\":\"a\"}\u0000", "{\"id\":\"\\ud800\"}",
      "{\"id\":\"\\udc00\\ud800\"}", "{\"id\":\"\\ud83dx\"}", "{\"id\":\"a\",\"tags\":{\"\\ud83d\":1}}",
      // The type is wrong first, but the rest is not JSON.
      "{\"id\":1, \"n\":", "{\"id\":1}}", "{\"id\":{\"a\":[1,2}}",
  })
  void documentThatIsNotJsonIsMalformed(String document) {
    refused(Reason.MALFORMED, json(ORDER), utf8(document));
  }

  @ParameterizedTest
  @CsvSource({
      "stray continuation byte, 80", "overlong slash, c0af", "overlong in three, e080af", "overlong in four, f08080af",
      "lone surrogate, eda080", "surrogate pair as CESU-8, eda0bdedb880", "above U+10FFFF, f4908080", "five bytes, f888808080",
      "cut short, e282", "continuation missing, e28241", "latin-1, e9", "fe, fe", "ff, ff",
  })
  void textThatIsNotUtf8IsMalformed(String what, String hex) {
    byte[] bad = HexFormat.of().parseHex(hex);
    for (String around : new String[] {"{\"id\":\"?\"}", "{\"id\":\"a\",\"x\":\"?\"}", "{\"id\":\"a\",\"?\":1}", "?"}) {
      refused(Reason.MALFORMED, json(ORDER), splice(around, bad));
    }
  }

  @Test
  void otherEncodingsAndByteOrderMarksAreMalformed() {
    String document = "{\"id\":\"a\"}";
    for (String charset : new String[] {"UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "UTF-32LE", "UTF-32BE"}) {
      refused(Reason.MALFORMED, json(ORDER), document.getBytes(Charset.forName(charset)));
    }
    assertTrue(refused(Reason.MALFORMED, json(ORDER), utf8("\ufeff" + document)).contains("byte order mark"));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
      "{\"id\":\"a\",\"id\":\"b\"}                                      | id",
      "{\"id\":\"a\",\"\\u0069d\":\"b\"}                                | id",
      "{\"id\":\"a\",\"n\":null,\"x\":1,\"n\":2}                        | n",
      "{\"id\":\"a\",\"x\":1,\"y\":2,\"x\":3}                           | x",
      "{\"id\":\"a\",\"order\":{\"items\":[{\"price\":1,\"price\":2}]}} | order.items[0].price",
      "{\"id\":\"a\",\"order\":{\"x\":1,\"x\":2}}                       | order.x",
      "{\"id\":\"a\",\"tags\":{\"k\":1,\"k\":1}}                        | tags.k",
  })
  void duplicateKeyIsMalformedAndNamed(String document, String path) {
    assertTrue(refused(Reason.MALFORMED, json(ORDER), utf8(document)).contains("`" + path + "`"));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
      "{\"id\":1}                                                            | id                   | STRING        | an integer",
      "{\"id\":1.5}                                                          | id                   | STRING        | a number",
      "{\"id\":true}                                                         | id                   | STRING        | a boolean",
      "{\"id\":{}}                                                           | id                   | STRING        | an object",
      "{\"id\":[]}                                                           | id                   | STRING        | an array",
      "{\"id\":null}                                                         | id                   | NOT NULL      | null",
      "{\"n\":1}                                                             | id                   | NOT NULL      | missing",
      "{}                                                                    | id                   | NOT NULL      | missing",
      "{\"ID\":\"a\"}                                                        | id                   | NOT NULL      | missing",
      "{\"id\":\"a\",\"n\":\"1\"}                                            | n                    | INT           | a string",
      "{\"id\":\"a\",\"n\":1.0}                                              | n                    | INT           | a fraction",
      "{\"id\":\"a\",\"n\":1e2}                                              | n                    | INT           | an exponent",
      "{\"id\":\"a\",\"n\":2147483648}                                       | n                    | INT           | 2147483648",
      "{\"id\":\"a\",\"order\":1}                                            | order                | STRUCT        | an integer",
      "{\"id\":\"a\",\"order\":[]}                                           | order                | STRUCT        | an array",
      "{\"id\":\"a\",\"order\":{\"items\":{}}}                               | order.items          | ARRAY         | an object",
      "{\"id\":\"a\",\"order\":{\"items\":[{\"price\":1},7]}}                | order.items[1]       | STRUCT        | an integer",
      "{\"id\":\"a\",\"order\":{\"items\":[{\"price\":1},{\"qty\":2}]}}      | order.items[1].price | NOT NULL      | missing",
      "{\"id\":\"a\",\"order\":{\"items\":[{\"price\":1},null,{\"price\":\"x\"}]}} | order.items[2].price | DECIMAL(10,2) | a string",
      "{\"id\":\"a\",\"order\":{\"items\":[{\"price\":1.234}]}}              | order.items[0].price | DECIMAL(10,2) | 1.234",
      "{\"id\":\"a\",\"tags\":[]}                                            | tags                 | MAP           | an array",
      "{\"id\":\"a\",\"tags\":{\"k\":\"v\"}}                                 | tags.k               | INT           | a string",
  })
  void wrongTypeNamesTheField(String document, String path, String declared, String found) {
    String detail = refused(Reason.WRONG_SCHEMA, json(ORDER), utf8(document));
    assertTrue(detail.startsWith("`" + path + "` is declared "), detail);
    for (String word : (declared + " " + found).split(" ")) {
      assertTrue(detail.contains(word), detail);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"[]", "[{\"id\":\"a\"}]", "1", "-1.5e3", "\"null\"", "\"\"", "true", "false", " [1] "})
  void documentThatIsNoObjectIsOfTheWrongSchema(String document) {
    refused(Reason.WRONG_SCHEMA, json(ORDER), utf8(document));
  }

  @Test
  void emptyValueAndNullDocumentAreTheirOwnReasons() {
    refused(Reason.EMPTY_VALUE, json(ORDER), new byte[0]);
    refused(Reason.NULL_DOCUMENT, json(ORDER), utf8("null"));
    refused(Reason.NULL_DOCUMENT, json(ORDER), utf8(" null\n"));
  }

  @Test
  void nestedValuesArriveAsCatalystValues() throws BadRecordException {
    Object[] row = values(json(ORDER), utf8("{\"id\":\"a\",\"extra\":{\"deep\":[1,{\"x\":null}]},\"n\":7,"
        + "\"order\":{\"items\":[{\"price\":12.50,\"qty\":2},null,{\"qty\":null,\"price\":1e3}]},\"tags\":{\"x\":1,\"y\":null}}"));
    assertEquals(UTF8String.fromString("a"), row[0]);
    ArrayData items = ((InternalRow) row[1]).getArray(0);
    assertEquals(3, items.numElements());
    assertEquals("12.50", items.getStruct(0, 2).getDecimal(0, 10, 2).toString());
    assertEquals(2, items.getStruct(0, 2).getInt(1));
    assertTrue(items.isNullAt(1));
    assertEquals("1000.00", items.getStruct(2, 2).getDecimal(0, 10, 2).toString());
    assertTrue(items.getStruct(2, 2).isNullAt(1));
    MapData tags = (MapData) row[2];
    assertEquals(2, tags.numElements());
    assertEquals(UTF8String.fromString("x"), tags.keyArray().getUTF8String(0));
    assertEquals(1, tags.valueArray().getInt(0));
    assertTrue(tags.valueArray().isNullAt(1));
    assertEquals(7, row[3]);
  }

  @Test
  void missingAndNullFieldsAreNullAndNothingRemainsFromTheRecordBefore() throws BadRecordException {
    RecordDecoder decoder = json("a STRING, b INT, c STRUCT<d: INT>");
    Object[] out = new Object[3];
    decoder.decode(null, utf8("{\"a\":\"x\",\"b\":1,\"c\":{\"d\":1}}"), out);
    decoder.decode(null, utf8("{\"b\":null}"), out);
    assertArrayEquals(new Object[3], out);
  }

  @Test
  void decoderWorksOnAfterEveryKindOfBadRecord() throws BadRecordException {
    RecordDecoder decoder = json(ORDER);
    for (String bad : new String[] {"{", "{\"id\":1}", "{\"id\":\"a\",\"id\":\"a\"}", "null", "\u0000", "{\"x\":{\"x\":"}) {
      assertFalse(Decoding.assertBad(decoder, utf8(bad)).isEmpty());
      assertEquals(UTF8String.fromString("ok"), values(decoder, utf8("{\"id\":\"ok\"}"))[0]);
    }
  }

  @ParameterizedTest
  @CsvSource({"1000, true", "1001, false", "10000, false", "1000000, false"})
  void nestingIsLimitedNotFatal(int depth, boolean accepted) throws BadRecordException {
    String document = "{\"x\":" + "[".repeat(depth - 1) + "]".repeat(depth - 1) + "}";
    if (accepted) {
      assertNull(first("a STRING", document));
    } else {
      refused(Reason.MALFORMED, json("a STRING"), utf8(document));
      refused(Reason.MALFORMED, json("x STRING"), utf8(document));
      refused(Reason.MALFORMED, json("a STRING"), utf8("[".repeat(depth)));
    }
  }

  @Test
  void hugeRecordsAreReadWhole() throws BadRecordException {
    int size = 12 << 20;
    assertEquals(size, ((UTF8String) first("s STRING", "{\"s\":\"" + "x".repeat(size) + "\"}")).numBytes());
    StringBuilder map = new StringBuilder("{\"m\":{\"k\":0");
    for (int i = 0; i < 100_000; i++) {
      map.append(",\"key-").append(i).append("\":").append(i);
    }
    String entries = map.append("}").toString();
    assertEquals(100_001, ((MapData) first("m MAP<STRING, INT>", entries + "}")).numElements());
    refused(Reason.MALFORMED, json("m MAP<STRING, INT>"), utf8(entries.substring(0, entries.length() - 1) + ",\"key-7\":1}}"));
    assertNull(first("a STRING", entries.substring(5)));
  }

  @Test
  void detailShowsNeitherThePayloadNorControlCharacters() {
    String secret = "s3cret-".repeat(100);
    String detail = refused(Reason.WRONG_SCHEMA, json("d DATE"), utf8("{\"d\":\"\\u001b[31m" + secret + "\"}"));
    assertTrue(detail.contains("\\u001b") && detail.length() < 150, detail);
    refused(Reason.WRONG_SCHEMA, json("m MAP<STRING, INT>"), utf8("{\"m\":{\"\\n" + secret + "\":\"x\"}}"));
    refused(Reason.MALFORMED, json("d DATE"), utf8("{\"d\":" + secret + "}"));
    refused(Reason.MALFORMED, json("d DATE"), utf8(secret));
    refused(Reason.MALFORMED, json("d DATE"), utf8("{\"d\":\"" + secret));
  }

  private static byte[] splice(String around, byte[] middle) {
    int at = around.indexOf('?');
    byte[] out = new byte[around.length() - 1 + middle.length];
    System.arraycopy(utf8(around), 0, out, 0, at);
    System.arraycopy(middle, 0, out, at, middle.length);
    System.arraycopy(utf8(around), at + 1, out, at + middle.length, around.length() - 1 - at);
    return out;
  }
}
