package io.milepost.decode.avro;

import io.milepost.decode.text.Detail;
import io.milepost.decode.text.IsoTime;
import io.milepost.decode.text.Numbers;
import io.milepost.record.BadRecordException;
import java.math.BigInteger;
import java.util.List;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** Readers of the Avro types that hold one value, with the logical types that Spark knows. */
final class AvroScalars {
  private AvroScalars() {}

  static AvroReader of(Schema schema, DataType type, String path) {
    return switch (schema.getType()) {
      case NULL -> input -> null;
      case BOOLEAN -> input -> input.readBoolean();
      case INT -> ints(type, path);
      case LONG -> longs(schema.getLogicalType(), type, path);
      case FLOAT -> input -> input.readFloat();
      case DOUBLE -> input -> input.readDouble();
      case STRING -> input -> input.readString();
      case ENUM -> symbols(schema.getEnumSymbols());
      case BYTES -> type instanceof DecimalType decimal
          ? input -> decimal(input.readBytes(), decimal, path)
          : input -> input.readBytes();
      case FIXED -> fixed(schema.getFixedSize(), type, path);
      default -> throw new IllegalStateException("not a scalar: " + schema.getType());
    };
  }

  private static AvroReader ints(DataType type, String path) {
    if (type instanceof IntegerType) {
      return input -> input.readInt();
    }
    if (type instanceof DateType) {
      return input -> {
        int day = input.readInt();
        if (!IsoTime.isDay(day)) {
          throw outOfRange(path, "DATE", day + " days");
        }
        return day;
      };
    }
    throw refused(path, type);
  }

  private static AvroReader longs(LogicalType logical, DataType type, String path) {
    if (type instanceof LongType) {
      return input -> input.readLong();
    }
    if (!(type instanceof TimestampType) && !(type instanceof TimestampNTZType)) {
      throw refused(path, type);
    }
    boolean millis =
        logical instanceof LogicalTypes.TimestampMillis || logical instanceof LogicalTypes.LocalTimestampMillis;
    String declared = type.sql();
    return input -> {
      long value = input.readLong();
      long micros = millis ? IsoTime.microsOfMillis(value) : value;
      if (!IsoTime.isMicros(micros)) {
        throw outOfRange(path, declared, value + (millis ? " ms" : " µs"));
      }
      return micros;
    };
  }

  private static AvroReader symbols(List<String> symbols) {
    UTF8String[] texts = symbols.stream().map(UTF8String::fromString).toArray(UTF8String[]::new);
    return input -> texts[input.readIndex(texts.length, "an enum's symbol")];
  }

  private static AvroReader fixed(int size, DataType type, String path) {
    return type instanceof DecimalType decimal
        ? input -> decimal(input.readFixed(size), decimal, path)
        : input -> input.readFixed(size);
  }

  private static Decimal decimal(byte[] unscaled, DecimalType type, String path) throws BadRecordException {
    Decimal value = unscaled.length == 0
        ? null : Numbers.toDecimal(new BigInteger(unscaled), type.precision(), type.scale());
    if (value == null) {
      throw Detail.wrongSchema(
          path, "is declared " + type.sql() + ", found " + unscaled.length + " bytes of another number of digits");
    }
    return value;
  }

  private static BadRecordException outOfRange(String path, String declared, String found) {
    return Detail.wrongSchema(
        path, "is declared " + declared + ", found " + found + " since the epoch: outside the years 1 to 9999");
  }

  private static IllegalArgumentException refused(String path, DataType type) {
    return new IllegalArgumentException("schema: the Avro field `" + path + "` stands for " + type.sql()
        + ", which Milepost does not read; leave its logical type out to get the plain number.");
  }
}
