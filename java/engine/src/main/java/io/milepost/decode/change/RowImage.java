package io.milepost.decode.change;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.milepost.decode.json.JsonFault;
import io.milepost.decode.json.JsonReader;
import io.milepost.decode.json.JsonReaders;
import io.milepost.decode.json.JsonStruct;
import io.milepost.decode.text.Numbers;
import io.milepost.record.BadRecordException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Reads the image of a row inside an envelope, as format json reads a document. It also accepts numbers and booleans
 * written as text, which is how Canal writes every value and Debezium some.
 */
final class RowImage {
  private static final Pattern INTEGER = Pattern.compile("-?[0-9]{1,100}");
  private static final Pattern NUMBER = Pattern.compile("-?[0-9]{1,400}(\\.[0-9]{1,400})?([eE][+-]?[0-9]{1,10})?");

  private RowImage() {}

  /** Values that a dialect reads in its own way; null where it reads a type as the others do. */
  interface Dialect {
    JsonReader reader(DataType type, JsonReader usual);
  }

  /** A row that must have every column declared NOT NULL. */
  static JsonStruct whole(StructType columns, Dialect dialect) {
    StructField[] fields = columns.fields();
    JsonReader[] readers = new JsonReader[fields.length];
    for (int i = 0; i < fields.length; i++) {
      JsonReader usual = lenient(fields[i].dataType(), JsonReaders.of(fields[i].dataType(), fields[i].name()));
      readers[i] = dialect.reader(fields[i].dataType(), usual);
    }
    return new JsonStruct(fields, readers);
  }

  /** A row in which any column may be missing, as in the old image of an update or in a key. */
  static JsonStruct partial(StructType columns, Dialect dialect) {
    return whole(columns.asNullable(), dialect);
  }

  /** The bytes of a text with one character per byte, which is how Canal writes binary values. */
  static Object readLatin1(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    if (token != JsonToken.VALUE_STRING) {
      throw JsonFault.found(parser, token, "BINARY");
    }
    String text = parser.getText();
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) > 0xff) {
        throw JsonFault.unfit(parser, token, "BINARY", "a character beyond ISO-8859-1, which does not represent a byte");
      }
    }
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  static boolean isBinary(DataType type) {
    return type instanceof BinaryType;
  }

  private static JsonReader lenient(DataType type, JsonReader strict) {
    if (type instanceof BooleanType) {
      return (parser, token) -> readBoolean(parser, token, strict);
    }
    JsonReader text = ofText(type);
    return text == null ? strict
        : (parser, token) -> (token == JsonToken.VALUE_STRING ? text : strict).read(parser, token);
  }

  /** The reader of a number written as text; null for a type that is not a number. */
  private static JsonReader ofText(DataType type) {
    if (type instanceof LongType) {
      return (parser, token) -> integer(parser, token, "BIGINT", Long.MIN_VALUE, Long.MAX_VALUE);
    } else if (type instanceof IntegerType) {
      return (parser, token) -> (int) integer(parser, token, "INT", Integer.MIN_VALUE, Integer.MAX_VALUE);
    } else if (type instanceof ShortType) {
      return (parser, token) -> (short) integer(parser, token, "SMALLINT", Short.MIN_VALUE, Short.MAX_VALUE);
    } else if (type instanceof ByteType) {
      return (parser, token) -> (byte) integer(parser, token, "TINYINT", Byte.MIN_VALUE, Byte.MAX_VALUE);
    } else if (type instanceof DoubleType) {
      return (parser, token) -> {
        double value = Double.parseDouble(number(parser, token, "DOUBLE"));
        return finite(parser, token, "DOUBLE", value, Double.isInfinite(value));
      };
    } else if (type instanceof FloatType) {
      return (parser, token) -> {
        float value = Float.parseFloat(number(parser, token, "FLOAT"));
        return finite(parser, token, "FLOAT", value, Float.isInfinite(value));
      };
    } else if (type instanceof DecimalType decimal) {
      return (parser, token) -> decimal(parser, token, decimal);
    }
    return null;
  }

  private static Object readBoolean(JsonParser parser, JsonToken token, JsonReader strict)
      throws IOException, BadRecordException {
    // A bit or TINYINT(1) of a database arrives as a number, or as text where every value is text.
    if (token == JsonToken.VALUE_STRING || token == JsonToken.VALUE_NUMBER_INT) {
      return switch (parser.getText()) {
        case "1", "true" -> true;
        case "0", "false" -> false;
        default -> throw JsonFault.unfit(parser, token, "BOOLEAN", "neither 1 nor 0, neither true nor false");
      };
    }
    return strict.read(parser, token);
  }

  private static long integer(JsonParser parser, JsonToken token, String declared, long least, long most)
      throws IOException, BadRecordException {
    String text = parser.getText();
    if (!INTEGER.matcher(text).matches()) {
      throw JsonFault.unfit(parser, token, declared, "not a whole number");
    }
    try {
      long value = Long.parseLong(text);
      if (value >= least && value <= most) {
        return value;
      }
    } catch (NumberFormatException e) {
      // Reported below: the digits are valid, so there are too many.
    }
    throw JsonFault.unfit(parser, token, declared, "out of range");
  }

  private static String number(JsonParser parser, JsonToken token, String declared)
      throws IOException, BadRecordException {
    String text = parser.getText();
    if (!NUMBER.matcher(text).matches()) {
      throw JsonFault.unfit(parser, token, declared, "not a number");
    }
    return text;
  }

  private static Object finite(JsonParser parser, JsonToken token, String declared, Object value, boolean isInfinite)
      throws IOException, BadRecordException {
    if (isInfinite) {
      throw JsonFault.unfit(parser, token, declared, "out of range");
    }
    return value;
  }

  private static Object decimal(JsonParser parser, JsonToken token, DecimalType type)
      throws IOException, BadRecordException {
    char[] chars = number(parser, token, type.sql()).toCharArray();
    Object value = Numbers.toDecimal(chars, 0, chars.length, type.precision(), type.scale());
    if (value == null) {
      throw JsonFault.unfit(parser, token, type.sql(), "digits would be lost");
    }
    return value;
  }
}
