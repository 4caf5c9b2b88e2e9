package io.milepost.decode.json;

import static io.milepost.decode.Decoding.first;
import static io.milepost.decode.Decoding.json;
import static io.milepost.decode.Decoding.refused;
import static io.milepost.decode.Decoding.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.decode.text.IsoTime;
import io.milepost.decode.text.Numbers;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Random;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class JsonScalarsTest {
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "TINYINT | -128 | Byte", "TINYINT | 127 | Byte", "SMALLINT | -32768 | Short", "SMALLINT | 32767 | Short",
      "INT | -2147483648 | Integer", "INT | 2147483647 | Integer", "BIGINT | -9223372036854775808 | Long",
      "BIGINT | 9223372036854775807 | Long", "BIGINT | 0 | Long", "BIGINT | 1234567890123456789 | Long",
      "DOUBLE | 1.5 | Double", "DOUBLE | -0.0 | Double", "DOUBLE | 1.7976931348623157E308 | Double", "DOUBLE | 4.9E-324 | Double",
      "FLOAT | 1.5 | Float", "FLOAT | 3.4028235E38 | Float", "BOOLEAN | true | Boolean", "BOOLEAN | false | Boolean",
      "DECIMAL(3,1) | 12.3 | Decimal", "DECIMAL(38,0) | 99999999999999999999999999999999999999 | Decimal",
      "DECIMAL(38,38) | 0.00000000000000000000000000000000000001 | Decimal",
  })
  void valueWithinTheTypeIsExact(String type, String text, String java) throws BadRecordException {
    Object value = first("x " + type, "{\"x\":" + text + "}");
    assertEquals(java, value.getClass().getSimpleName());
    assertEquals(text, value instanceof Decimal decimal ? decimal.toPlainString() : value.toString());
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "TINYINT | 128", "TINYINT | -129", "SMALLINT | 32768", "INT | 2147483648", "INT | -2147483649",
      "INT | 99999999999999999999999999", "BIGINT | 9223372036854775808", "BIGINT | -9223372036854775809",
      "BIGINT | 18446744073709551617", "BIGINT | 1.0", "BIGINT | 1e3", "BIGINT | 0.5", "BIGINT | \"1\"", "BIGINT | true",
      "DOUBLE | 1e400", "DOUBLE | -1e400", "DOUBLE | 1e99999999999", "DOUBLE | \"1\"", "DOUBLE | \"NaN\"", "FLOAT | 1e39",
      "FLOAT | -3.5e38", "FLOAT | \"1\"", "BOOLEAN | 1", "BOOLEAN | \"true\"", "DECIMAL(3,1) | 100", "DECIMAL(3,1) | 99.95",
      "DECIMAL(3,1) | 0.01", "DECIMAL(3,1) | 1e400", "DECIMAL(3,1) | 1e999999999", "DECIMAL(3,1) | 1e-999999999",
      "DECIMAL(3,1) | 1e99999999999", "DECIMAL(3,1) | \"1\"", "DECIMAL(38,38) | 1",
      "DECIMAL(38,0) | 100000000000000000000000000000000000000", "STRING | 1", "STRING | true", "STRING | {}",
      "BINARY | \"a\"", "BINARY | \"QQ\"", "BINARY | \"Q===\"", "BINARY | \"QUJD\\n\"", "BINARY | \"****\"", "BINARY | 1",
      "BINARY | \"-_-_\"", "DATE | \"2026-02-29\"", "DATE | \"1900-02-29\"", "DATE | \"2026-13-01\"", "DATE | \"2026-00-01\"",
      "DATE | \"2026-01-00\"", "DATE | \"2026-01-32\"", "DATE | \"2026-1-1\"", "DATE | \"0000-01-01\"", "DATE | \"10000-01-01\"",
      "DATE | \"-001-01-01\"", "DATE | \"20260101\"", "DATE | \"2026-01-01T00:00:00Z\"", "DATE | \"\"", "DATE | 20454",
      "TIMESTAMP | \"2026-01-01\"", "TIMESTAMP | \"2026-01-01T00:00:00\"", "TIMESTAMP | \"2026-01-01T24:00:00Z\"",
      "TIMESTAMP | \"2026-01-01T00:60:00Z\"", "TIMESTAMP | \"2026-01-01T23:59:60Z\"", "TIMESTAMP | \"2026-01-01T00:00:00.Z\"",
      "TIMESTAMP | \"2026-01-01T00:00:00.1234567890Z\"", "TIMESTAMP | \"2026-01-01T00:00:00+19:00\"",
      "TIMESTAMP | \"2026-01-01T00:00:00+1:00\"", "TIMESTAMP | \"2026-01-01T00:00:00+18:01\"", "TIMESTAMP | \"2026-01-01T00:00:00ZZ\"",
      "TIMESTAMP | \"2026-01-01X00:00:00Z\"", "TIMESTAMP | \"2026-02-30T00:00:00Z\"", "TIMESTAMP | \"0001-01-01T00:00:00+01:00\"",
      "TIMESTAMP | \"9999-12-31T23:59:59-01:00\"", "TIMESTAMP | \"+10000-01-01T00:00:00Z\"", "TIMESTAMP | \"\"", "TIMESTAMP | \"now\"",
      "TIMESTAMP | \"2026-01-01T00:00:00+01:00[No/Where]\"", "TIMESTAMP | \"]]]]]]]]]]]]]]]]]]]]\"", "TIMESTAMP | 1.5",
      "TIMESTAMP | 253402300800000", "TIMESTAMP | -62135596800001", "TIMESTAMP | 9223372036854775807", "TIMESTAMP | true",
      "TIMESTAMP_NTZ | \"2026-01-01T00:00:00Z\"", "TIMESTAMP_NTZ | \"2026-01-01T00:00:00+01:00\"", "TIMESTAMP_NTZ | 0",
      "TIMESTAMP_NTZ | \"2026-01-01\"", "TIMESTAMP_NTZ | \"2026-01-01T00\"", "TIMESTAMP_NTZ | \"2026-01-01T00:00:\"",
  })
  void valueThatDoesNotFitIsOfTheWrongSchema(String type, String text) {
    String detail = refused(Reason.WRONG_SCHEMA, json("s STRUCT<x: " + type + ">"), utf8("{\"s\":{\"x\":" + text + "}}"));
    assertTrue(detail.startsWith("`s.x` is declared " + type + ", found "), detail);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "2026-01-31T12:34:56Z              | 2026-01-31T12:34:56Z", "2026-01-31T12:34Z     | 2026-01-31T12:34:00Z",
      "2026-01-31 12:34:56Z              | 2026-01-31T12:34:56Z", "2024-02-29T00:00:00-0030 | 2024-02-29T00:30:00Z",
      "2026-01-31T12:34:56.7+01:00       | 2026-01-31T11:34:56.7Z", "2026-01-31T12:34:56.123456789Z | 2026-01-31T12:34:56.123456Z",
      "2026-01-31T12:34:56-18:00         | 2026-02-01T06:34:56Z", "0001-01-01T00:00:00Z  | 0001-01-01T00:00:00Z",
      "9999-12-31T23:59:59.999999Z       | 9999-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.5+00 | 1969-12-31T23:59:59.5Z",
      "2026-07-01T12:00:00+02:00[Europe/Berlin] | 2026-07-01T10:00:00Z",
  })
  void timestampTextIsAnInstant(String text, String instant) throws BadRecordException {
    assertEquals(micros(Instant.parse(instant)), first("x TIMESTAMP", "{\"x\":\"" + text + "\"}"));
  }

  @Test
  void timestampIntegerIsEpochMilliseconds() throws BadRecordException {
    assertEquals(1000L, first("x TIMESTAMP", "{\"x\":1}"));
    assertEquals(-62135596800000_000L, first("x TIMESTAMP", "{\"x\":-62135596800000}"));
    assertEquals(253402300799999_000L, first("x TIMESTAMP", "{\"x\":253402300799999}"));
  }

  @Test
  void localTimestampHasNoZone() throws BadRecordException {
    assertEquals(micros(Instant.parse("2026-01-31T12:34:56.789Z")), first("x TIMESTAMP_NTZ", "{\"x\":\"2026-01-31T12:34:56.789\"}"));
    assertEquals(micros(Instant.parse("2026-01-31T12:34:00Z")), first("x TIMESTAMP_NTZ", "{\"x\":\"2026-01-31 12:34\"}"));
  }

  @Test
  void everyDayOfTheCalendarIsReadAsJavaReadsIt() {
    LocalDate end = LocalDate.of(9999, 12, 31);
    for (LocalDate day = LocalDate.of(1, 1, 1); !day.isAfter(end); day = day.plusDays(1)) {
      char[] text = day.toString().toCharArray();
      assertEquals(day.toEpochDay(), IsoTime.daysOf(text, 0, text.length), day::toString);
    }
    assertTrue(IsoTime.isDay(end.toEpochDay()) && !IsoTime.isDay(end.toEpochDay() + 1));
  }

  @Test
  void doublesAreReadAsJavaReadsThem() {
    Random random = new Random(7);
    for (int i = 0; i < 300_000; i++) {
      String text = switch (i % 4) {
        case 0 -> Double.toString(Double.longBitsToDouble(random.nextLong()));
        case 1 -> random.nextInt(100_000) + "." + random.nextInt(1000);
        case 2 -> Long.toString(random.nextLong());
        default -> random.nextLong() + "." + Math.abs(random.nextLong());
      };
      double value = Double.parseDouble(text);
      if (Double.isFinite(value)) {
        assertEquals(value, Numbers.toDouble(text.toCharArray(), 0, text.length()), text);
      }
    }
  }

  @Test
  void textIsKeptByteForByte() throws BadRecordException {
    String text = "a\u0000 é € \ud83d\ude00 \u0301 \u2028 trailing ";
    assertEquals(UTF8String.fromString(text), first("s STRING",
        "{\"s\":\"a\\u0000 \\u00e9 € \\ud83d\\ude00 \u0301 \u2028 trailing \"}"));
    assertEquals(UTF8String.fromString("null"), first("s STRING", "{\"s\":\"null\"}"));
    assertEquals(UTF8String.fromString("x"), first("`\ud83d\ude00é` STRING", "{\"\\ud83d\\ude00\\u00e9\":\"x\"}"));
    assertEquals(UTF8String.fromString("x"), first("`\ud83d\ude00é` STRING", "{\"\ud83d\ude00é\":\"x\"}"));
    assertArrayEquals(new byte[] {0, -1, 16}, (byte[]) first("b BINARY", "{\"b\":\"AP8Q\"}"));
    assertArrayEquals(new byte[] {65}, (byte[]) first("b BINARY", "{\"b\":\"QQ==\"}"));
    assertArrayEquals(new byte[0], (byte[]) first("b BINARY", "{\"b\":\"\"}"));
  }

  @Test
  void decimalsLoseOnlyZeros() throws BadRecordException {
    assertEquals("12.5", first("d DECIMAL(3,1)", "{\"d\":12.5000}").toString());
    assertEquals("10.0", first("d DECIMAL(3,1)", "{\"d\":1e1}").toString());
    assertEquals("0.0", first("d DECIMAL(3,1)", "{\"d\":0e999999999}").toString());
    assertEquals("0.0", first("d DECIMAL(3,1)", "{\"d\":-0}").toString());
    assertEquals("-99.9", first("d DECIMAL(3,1)", "{\"d\":-99.9}").toString());
    String digits = "1".repeat(100_000);
    refused(Reason.WRONG_SCHEMA, json("d DECIMAL(38,0)"), utf8("{\"d\":" + digits + "}"));
    refused(Reason.WRONG_SCHEMA, json("d DOUBLE"), utf8("{\"d\":" + digits + "}"));
    refused(Reason.WRONG_SCHEMA, json("d BIGINT"), utf8("{\"d\":" + digits + "}"));
    first("a STRING", "{\"d\":" + digits + "}");
  }

  private static long micros(Instant instant) {
    return instant.getEpochSecond() * 1_000_000 + instant.getNano() / 1000;
  }
}
