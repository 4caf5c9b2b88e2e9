package io.milepost.decode.avro;

import static io.milepost.decode.Decoding.refused;
import static io.milepost.decode.Decoding.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.decode.Decoders;
import io.milepost.decode.RecordDecoder;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

public final class AvroDecoderTest {
  public static final String ORDER = "{\"type\":\"record\",\"name\":\"Order\",\"fields\":["
      + "{\"name\":\"id\",\"type\":\"string\"},"
      + "{\"name\":\"note\",\"type\":[\"null\",\"string\"]},"
      + "{\"name\":\"items\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"Item\",\"fields\":["
      + "{\"name\":\"price\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":10,\"scale\":2}},"
      + "{\"name\":\"qty\",\"type\":\"int\"}]}}},"
      + "{\"name\":\"tags\",\"type\":{\"type\":\"map\",\"values\":[\"null\",\"long\"]}},"
      + "{\"name\":\"at\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}}]}";

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
      "\"boolean\" | 01 | BOOLEAN | true", "\"int\" | ffffffff0f | INT | -2147483648", "\"long\" | 02 | BIGINT | 1",
      "\"long\" | ffffffffffffffffff01 | BIGINT | -9223372036854775808",
      "\"long\" | feffffffffffffffff01 | BIGINT | 9223372036854775807",
      "\"float\" | 0000c03f | FLOAT | 1.5", "\"double\" | 000000000000f83f | DOUBLE | 1.5", "\"string\" | 04c3a9 | STRING | é",
      "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]} | 02 | STRING | B",
      "{\"type\":\"int\",\"logicalType\":\"date\"} | 02 | DATE | 1",
      "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"} | 02 | TIMESTAMP | 1000",
      "{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"} | 02 | TIMESTAMP | 1",
      "{\"type\":\"long\",\"logicalType\":\"local-timestamp-millis\"} | 01 | TIMESTAMP_NTZ | -1000",
      "{\"type\":\"long\",\"logicalType\":\"local-timestamp-micros\"} | 01 | TIMESTAMP_NTZ | -1",
      "{\"type\":\"string\",\"logicalType\":\"uuid\"} | 0261 | STRING | a",
      "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":4,\"scale\":2} | 0204 | DECIMAL(4,2) | 0.04",
      "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":4,\"scale\":2} | 04d8f1 | DECIMAL(4,2) | -99.99",
      "{\"type\":\"fixed\",\"name\":\"F\",\"size\":2,\"logicalType\":\"decimal\",\"precision\":4,\"scale\":0} | ff9c | DECIMAL(4,0) | -100",
      "[\"null\",\"int\"] | 00 | INT | null", "[\"int\",\"null\"] | 0006 | INT | 3", "[\"int\",\"long\"] | 0006 | BIGINT | 3",
      "[\"long\",\"null\",\"int\"] | 0406 | BIGINT | 3", "[\"float\",\"double\"] | 000000c03f | DOUBLE | 1.5", "[\"string\"] | 000261 | STRING | a",
  })
  void scalarArrives(String type, String hex, String sql, String expected) throws BadRecordException {
    assertEquals(sql, Decoders.schema(options(record(type))).fields()[0].dataType().sql());
    assertEquals(expected, String.valueOf(values(avro(record(type)), bytes(hex))[0]));
  }

  @Test
  void bytesFixedAndUnionsArrive() throws BadRecordException {
    assertArrayEquals(bytes("00ff"), (byte[]) values(avro(record("\"bytes\"")), bytes("0400ff"))[0]);
    String fixed = "{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}";
    assertArrayEquals(bytes("00ff"), (byte[]) values(avro(record(fixed)), bytes("00ff"))[0]);
    RecordDecoder union = avro(record("[\"null\",\"string\",\"int\"]"));
    InternalRow members = (InternalRow) values(union, bytes("0406"))[0];
    assertTrue(members.isNullAt(0));
    assertEquals(3, members.getInt(1));
    assertNull(values(union, bytes("00"))[0]);
  }

  @Test
  void recordWrittenByAvroArrives() throws BadRecordException {
    Object[] row = values(avro(ORDER), order());
    assertEquals(UTF8String.fromString("ü-1"), row[0]);
    assertNull(row[1]);
    ArrayData items = (ArrayData) row[2];
    assertEquals(2, items.numElements());
    assertEquals("12.50", items.getStruct(0, 2).getDecimal(0, 10, 2).toString());
    assertEquals(-7, items.getStruct(1, 2).getInt(1));
    MapData tags = (MapData) row[3];
    assertEquals(UTF8String.fromString("k"), tags.keyArray().getUTF8String(0));
    assertEquals(5L, tags.valueArray().getLong(0));
    assertEquals(1_700_000_000_000_000L, row[4]);
  }

  @Test
  void everyTruncationAndEveryExtraByteIsMalformed() {
    byte[] body = order();
    for (int length = 1; length < body.length; length++) {
      refused(Reason.MALFORMED, avro(ORDER), Arrays.copyOf(body, length));
    }
    assertTrue(refused(Reason.MALFORMED, avro(ORDER), Arrays.copyOf(body, body.length + 1)).contains("1 bytes are left"));
    refused(Reason.EMPTY_VALUE, avro(ORDER), new byte[0]);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
      "\"boolean\" | 02", "\"int\" | 8080808010", "\"int\" | ffffffff1f", "\"long\" | ffffffffffffffffffff01",
      "\"long\" | ffffffffffffffffff02", "\"string\" | 01", "\"string\" | 04c0af", "\"string\" | feffffff0f",
      "\"string\" | feffffffffffffffff01", "\"bytes\" | feffffff0f00", "\"bytes\" | 03", "[\"null\",\"int\"] | 0400", "[\"null\",\"int\"] | 01",
      "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]} | 04", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]} | 01",
      "{\"type\":\"array\",\"items\":\"int\"} | feffffff0f", "{\"type\":\"array\",\"items\":\"double\"} | 060000000000000000",
      "{\"type\":\"array\",\"items\":\"null\"} | feffffff0f00", "{\"type\":\"array\",\"items\":\"int\"} | ffffffffffffffffff0100",
      "{\"type\":\"array\",\"items\":\"int\"} | 01010200", "{\"type\":\"map\",\"values\":\"null\"} | feffffff0f",
      "{\"type\":\"map\",\"values\":\"int\"} | 040261020261040000", "{\"type\":\"map\",\"values\":\"int\"} | 0202ff0200",
  })
  void brokenBodyIsMalformed(String type, String hex) {
    refused(Reason.MALFORMED, avro(record(type)), bytes(hex));
  }

  @Test
  void manyBlocksOfEmptyElementsAreBounded() {
    // 65,536 nulls a block, in blocks of three bytes: without a bound over all blocks a small record fills the heap.
    byte[] bomb = bytes("808008".repeat(100_000) + "00");
    refused(Reason.MALFORMED, avro(record("{\"type\":\"array\",\"items\":\"null\"}")), bomb);
  }

  @Test
  void blocksWithTheirSizeAreRead() throws BadRecordException {
    ArrayData data = (ArrayData) values(avro(record("{\"type\":\"array\",\"items\":\"int\"}")), bytes("030402040206" + "00"))[0];
    assertEquals(3, data.numElements());
    assertEquals(3, data.getInt(2));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
      "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":4,\"scale\":2} | 042710 | DECIMAL(4,2)",
      "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":4,\"scale\":2} | 00 | DECIMAL(4,2)",
      "{\"type\":\"int\",\"logicalType\":\"date\"} | feffffff0f | DATE",
      "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"} | feffffffffffffffff01 | TIMESTAMP",
      "{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"} | ffffffffffffffffff01 | TIMESTAMP",
  })
  void valueOutOfRangeNamesTheField(String type, String hex, String declared) {
    String detail = refused(Reason.WRONG_SCHEMA, avro(record(type)), bytes(hex));
    assertTrue(detail.startsWith("`x` is declared " + declared + ", found "), detail);
  }

  @Test
  void confluentHeaderIsRequiredWhenAskedFor() throws BadRecordException {
    RecordDecoder decoder = Decoders.of(
        Map.of("format", "avro", "schema", record("\"int\""), "avro.confluent-header", "true"));
    assertEquals(3, values(decoder, bytes("000000002a06"))[0]);
    for (String hex : new String[] {"010000002a06", "06", "00000000", "000000002a"}) {
      refused(Reason.MALFORMED, decoder, bytes(hex));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"type\":\"int\",\"spark.sql.catalyst.type\":\"interval year\"}"})
  void typeWithoutAReaderIsRefusedAtTheStart(String type) {
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> avro(record(type)));
    assertTrue(e.getMessage().startsWith("schema: the Avro field `x`"), e.getMessage());
  }

  public static byte[] order() {
    Schema schema = new Schema.Parser().parse(ORDER);
    Schema item = schema.getField("items").schema().getElementType();
    GenericData.Record order = new GenericData.Record(schema);
    order.put("id", "ü-1");
    order.put("items", List.of(item(item, "12.50", 2), item(item, "0.00", -7)));
    order.put("tags", Map.of("k", 5L));
    order.put("at", 1_700_000_000_000L);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
    try {
      new GenericDatumWriter<>(schema).write(order, encoder);
      encoder.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toByteArray();
  }

  private static GenericData.Record item(Schema schema, String price, int quantity) {
    GenericData.Record item = new GenericData.Record(schema);
    item.put("price", ByteBuffer.wrap(new BigDecimal(price).unscaledValue().toByteArray()));
    item.put("qty", quantity);
    return item;
  }

  private static RecordDecoder avro(String schema) {
    return Decoders.of(options(schema));
  }

  private static Map<String, String> options(String schema) {
    return Map.of("format", "avro", "schema", schema);
  }

  private static String record(String type) {
    return "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"x\",\"type\":" + type + "}]}";
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }
}
