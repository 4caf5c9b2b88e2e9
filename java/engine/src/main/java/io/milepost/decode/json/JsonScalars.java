package io.milepost.decode.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.milepost.decode.text.IsoTime;
import io.milepost.decode.text.Numbers;
import io.milepost.decode.text.Utf8;
import io.milepost.record.BadRecordException;
import java.io.IOException;
import java.util.Base64;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Readers of everything that is not a container. Nothing is coerced: a number is not a string, 1.0 is not an integer.
 */
final class JsonScalars {
  private JsonScalars() {}

  static Object readString(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    if (token != JsonToken.VALUE_STRING) {
      throw JsonFault.found(parser, token, "STRING");
    }
    char[] chars = parser.getTextCharacters();
    byte[] bytes = Utf8.encode(chars, parser.getTextOffset(), parser.getTextLength());
    if (bytes == null) {
      throw JsonFault.loneSurrogate(parser);
    }
    return UTF8String.fromBytes(bytes);
  }

  static Object readBoolean(JsonParser parser, JsonToken token) throws BadRecordException {
    if (token == JsonToken.VALUE_TRUE) {
      return Boolean.TRUE;
    }
    if (token == JsonToken.VALUE_FALSE) {
      return Boolean.FALSE;
    }
    throw JsonFault.found(parser, token, "BOOLEAN");
  }

  static Object readByte(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    return (byte) integer(parser, token, "TINYINT", Byte.MIN_VALUE, Byte.MAX_VALUE);
  }

  static Object readShort(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    return (short) integer(parser, token, "SMALLINT", Short.MIN_VALUE, Short.MAX_VALUE);
  }

  static Object readInt(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    return (int) integer(parser, token, "INT", Integer.MIN_VALUE, Integer.MAX_VALUE);
  }

  static Object readLong(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    return integer(parser, token, "BIGINT", Long.MIN_VALUE, Long.MAX_VALUE);
  }

  private static long integer(JsonParser parser, JsonToken token, String declared, long least, long most)
      throws IOException, BadRecordException {
    if (token != JsonToken.VALUE_NUMBER_INT) {
      throw JsonFault.found(parser, token, declared);
    }
    char[] chars = parser.getTextCharacters();
    int from = parser.getTextOffset();
    int length = parser.getTextLength();
    if (!Numbers.fitsLong(chars, from, length, least, most)) {
      throw JsonFault.unfit(parser, token, declared, "out of range");
    }
    return Numbers.toLong(chars, from, length);
  }

  static Object readDouble(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    double value = floating(parser, token, "DOUBLE");
    if (Double.isInfinite(value)) {
      throw JsonFault.unfit(parser, token, "DOUBLE", "out of range");
    }
    return value;
  }

  static Object readFloat(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    floatingOnly(parser, token, "FLOAT");
    // Not through a double: rounding twice can miss the nearest float.
    float value = Float.parseFloat(parser.getText());
    if (Float.isInfinite(value)) {
      throw JsonFault.unfit(parser, token, "FLOAT", "out of range");
    }
    return value;
  }

  private static double floating(JsonParser parser, JsonToken token, String declared)
      throws IOException, BadRecordException {
    floatingOnly(parser, token, declared);
    char[] chars = parser.getTextCharacters();
    return Numbers.toDouble(chars, parser.getTextOffset(), parser.getTextLength());
  }

  private static void floatingOnly(JsonParser parser, JsonToken token, String declared) throws BadRecordException {
    if (token != JsonToken.VALUE_NUMBER_FLOAT && token != JsonToken.VALUE_NUMBER_INT) {
      throw JsonFault.found(parser, token, declared);
    }
  }

  static JsonReader decimals(DecimalType type) {
    String declared = type.sql();
    int precision = type.precision();
    int scale = type.scale();
    return (parser, token) -> {
      floatingOnly(parser, token, declared);
      char[] chars = parser.getTextCharacters();
      Decimal value = Numbers.toDecimal(chars, parser.getTextOffset(), parser.getTextLength(), precision, scale);
      if (value == null) {
        throw JsonFault.unfit(parser, token, declared, "digits would be lost");
      }
      return value;
    };
  }

  static Object readDate(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    if (token != JsonToken.VALUE_STRING) {
      throw JsonFault.found(parser, token, "DATE");
    }
    char[] chars = parser.getTextCharacters();
    long days = IsoTime.daysOf(chars, parser.getTextOffset(), parser.getTextLength());
    if (days == IsoTime.NONE) {
      throw JsonFault.unfit(parser, token, "DATE", "not a date from 0001-01-01 to 9999-12-31");
    }
    return (int) days;
  }

  static Object readTimestamp(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    if (token == JsonToken.VALUE_NUMBER_INT) {
      long micros = IsoTime.microsOfMillis(integer(parser, token, "TIMESTAMP", Long.MIN_VALUE, Long.MAX_VALUE));
      if (micros == IsoTime.NONE) {
        throw JsonFault.unfit(parser, token, "TIMESTAMP", "epoch milliseconds outside the years 1 to 9999");
      }
      return micros;
    }
    if (token != JsonToken.VALUE_STRING) {
      throw JsonFault.found(parser, token, "TIMESTAMP");
    }
    char[] chars = parser.getTextCharacters();
    long micros = IsoTime.instantMicros(chars, parser.getTextOffset(), parser.getTextLength());
    if (micros == IsoTime.NONE) {
      throw JsonFault.unfit(parser, token, "TIMESTAMP", "not an ISO-8601 time with zone, years 1 to 9999");
    }
    return micros;
  }

  static Object readLocalTimestamp(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    if (token != JsonToken.VALUE_STRING) {
      throw JsonFault.found(parser, token, "TIMESTAMP_NTZ");
    }
    char[] chars = parser.getTextCharacters();
    long micros = IsoTime.localMicros(chars, parser.getTextOffset(), parser.getTextLength());
    if (micros == IsoTime.NONE) {
      throw JsonFault.unfit(parser, token, "TIMESTAMP_NTZ", "not an ISO-8601 time without zone, years 1 to 9999");
    }
    return micros;
  }

  static Object readBinary(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    if (token != JsonToken.VALUE_STRING) {
      throw JsonFault.found(parser, token, "BINARY");
    }
    String text = parser.getText();
    try {
      if (text.length() % 4 == 0) { // Java's decoder would accept a text without its padding
        return Base64.getDecoder().decode(text);
      }
    } catch (IllegalArgumentException e) {
      // Reported below, together with missing padding.
    }
    throw JsonFault.unfit(parser, token, "BINARY", "not base64");
  }
}
