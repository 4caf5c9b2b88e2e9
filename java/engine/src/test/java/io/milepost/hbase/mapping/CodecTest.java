package io.milepost.hbase.mapping;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class CodecTest {
  private static final DataType DECIMAL = DataTypes.createDecimalType(20, 4);
  private static final DataType SMALL = DataTypes.createDecimalType(10, 8);

  /** Type, value, native bytes as a plain HBase client makes them, text, JSON. */
  static Stream<Arguments> values() {
    long micros = 1_700_000_000_123_456L;
    return Stream.of(
        Arguments.of(DataTypes.StringType, UTF8String.fromString("a\"é"), Bytes.toBytes("a\"é"), "a\"é", "\"a\\\"é\""),
        Arguments.of(DataTypes.BooleanType, true, Bytes.toBytes(true), "true", "true"),
        Arguments.of(DataTypes.ByteType, (byte) -3, new byte[] {-3}, "-3", "-3"),
        Arguments.of(DataTypes.ShortType, (short) -300, Bytes.toBytes((short) -300), "-300", "-300"),
        Arguments.of(DataTypes.IntegerType, 70_000, Bytes.toBytes(70_000), "70000", "70000"),
        Arguments.of(DataTypes.LongType, Long.MIN_VALUE, Bytes.toBytes(Long.MIN_VALUE),
            "-9223372036854775808", "-9223372036854775808"),
        Arguments.of(DataTypes.FloatType, 1.5f, Bytes.toBytes(1.5f), "1.5", "1.5"),
        Arguments.of(DataTypes.DoubleType, 0.1, Bytes.toBytes(0.1), "0.1", "0.1"),
        Arguments.of(DataTypes.DoubleType, Double.NaN, Bytes.toBytes(Double.NaN), "NaN", "\"NaN\""),
        Arguments.of(DECIMAL, Decimal.apply(new BigDecimal("12.3400"), 20, 4), Bytes.toBytes(new BigDecimal("12.3400")),
            "12.3400", "12.3400"),
        Arguments.of(SMALL, Decimal.apply(new BigDecimal("0.00000001"), 10, 8),
            Bytes.toBytes(new BigDecimal("0.00000001")), "0.00000001", "1E-8"),
        Arguments.of(DataTypes.DateType, 19_000, Bytes.toBytes(19_000), "2022-01-08", "\"2022-01-08\""),
        Arguments.of(DataTypes.TimestampType, micros, Bytes.toBytes(micros),
            "2023-11-14 22:13:20.123456", "\"2023-11-14T22:13:20.123456Z\""),
        Arguments.of(DataTypes.TimestampNTZType, micros, Bytes.toBytes(micros),
            "2023-11-14 22:13:20.123456", "\"2023-11-14T22:13:20.123456\""));
  }

  @ParameterizedTest
  @MethodSource("values")
  void everyEncodingIsAsPromisedAndComesBack(DataType type, Object value, byte[] plain, String text, String json) {
    assertBothWays("native", type, value, plain);
    assertBothWays("string", type, value, text.getBytes(StandardCharsets.UTF_8));
    assertBothWays("json", type, value, json.getBytes(StandardCharsets.UTF_8));
  }

  private static void assertBothWays(String encoding, DataType type, Object value, byte[] expected) {
    HBaseOptions options = Rows.options("encoding", encoding);
    byte[] bytes = ValueEncoder.of(options, type, 1).encode(Rows.row("x", value));
    assertEquals(Bytes.toStringBinary(expected), Bytes.toStringBinary(bytes), encoding);
    // Inside a larger array, as cells come from HBase.
    byte[] cell = Bytes.add(new byte[] {9, 9}, bytes, new byte[] {9});
    assertEquals(value, ValueDecoder.of(options, type).decode(cell, 2, bytes.length), encoding);
  }

  @Test
  void bytesStayAsTheyAre() {
    byte[] any = {0, -1, 10, 13};
    for (String encoding : new String[] {"native", "string", "json"}) {
      HBaseOptions options = Rows.options("encoding", encoding);
      byte[] bytes = ValueEncoder.of(options, DataTypes.BinaryType, 0).encode(Rows.row((Object) any));
      assertArrayEquals(any, (byte[]) ValueDecoder.of(options, DataTypes.BinaryType).decode(bytes, 0, bytes.length));
    }
  }

  @Test
  void anArrayIsWrittenAsJsonAndComesBack() {
    DataType type = DataTypes.createArrayType(DataTypes.LongType);
    HBaseOptions options = Rows.options("encoding", "json");
    ValueEncoder encoder = ValueEncoder.of(options, type, 0);
    encoder.encode(Rows.row(new GenericArrayData(new Object[] {5L})));
    byte[] bytes = encoder.encode(Rows.row(new GenericArrayData(new Object[] {1L, null, 3L})));
    assertEquals("[1,null,3]", new String(bytes, StandardCharsets.UTF_8));
    GenericArrayData back = (GenericArrayData) ValueDecoder.of(options, type).decode(bytes, 0, bytes.length);
    assertEquals(new GenericArrayData(new Object[] {1L, null, 3L}), back);
  }

  @Test
  void wrongBytesAreRefused() {
    ValueDecoder nativeLong = ValueDecoder.of(Rows.options(), DataTypes.LongType);
    Rows.assertRefused("BIGINT has 8 bytes and this has 3", () -> nativeLong.decode(new byte[3], 0, 3));
    ValueDecoder text = ValueDecoder.of(Rows.options("encoding", "string"), DataTypes.IntegerType);
    Rows.assertRefused("this text is not a valid INT", () -> text.decode(Bytes.toBytes("abc"), 0, 3));
    ValueDecoder json = ValueDecoder.of(Rows.options("encoding", "json"), DataTypes.IntegerType);
    Rows.assertRefused("this text is not JSON of type INT", () -> json.decode(Bytes.toBytes("{,"), 0, 2));
    ValueDecoder decimal = ValueDecoder.of(Rows.options(), DataTypes.createDecimalType(3, 0));
    byte[] large = Bytes.toBytes(new BigDecimal("12345"));
    Rows.assertRefused("does not fit into DECIMAL(3,0)", () -> decimal.decode(large, 0, large.length));
    Rows.assertRefused("at least 5 bytes", () -> decimal.decode(large, 0, 4));
  }

  @Test
  void nestedTextCannotBeReadBack() {
    Rows.assertRefused("cannot be read back from its text", () ->
        ValueDecoder.of(Rows.options("encoding", "string"), DataTypes.createArrayType(DataTypes.LongType)));
  }
}
