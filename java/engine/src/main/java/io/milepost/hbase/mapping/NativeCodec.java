package io.milepost.hbase.mapping;

import java.math.BigDecimal;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** Encoding `native`: the bytes that HBase's own `Bytes` produces, so that a plain HBase client can read them. */
public final class NativeCodec {
  private static final int VARIABLE = -1;

  private NativeCodec() {}

  static boolean supports(DataType type) {
    return width(type) > 0 || isVariable(type);
  }

  /** True where values differ in length, so that inside a composite key they need an end mark. */
  static boolean isVariable(DataType type) {
    return type instanceof StringType || type instanceof BinaryType || type instanceof DecimalType;
  }

  /** The number of bytes of every value of this type; -1 where it varies. */
  public static int width(DataType type) {
    if (type instanceof BooleanType || type instanceof ByteType) {
      return 1;
    }
    if (type instanceof ShortType) {
      return Short.BYTES;
    }
    if (type instanceof IntegerType || type instanceof DateType || type instanceof FloatType) {
      return Integer.BYTES;
    }
    return isLong(type) || type instanceof DoubleType ? Long.BYTES : VARIABLE;
  }

  private static boolean isLong(DataType type) {
    return type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType;
  }

  public static ValueEncoder encoder(DataType type, int i) {
    if (type instanceof StringType) {
      return row -> row.getUTF8String(i).getBytes();
    }
    if (type instanceof BinaryType) {
      return row -> row.getBinary(i);
    }
    if (isLong(type)) {
      return row -> Bytes.toBytes(row.getLong(i));
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return row -> Bytes.toBytes(row.getInt(i));
    }
    if (type instanceof DoubleType) {
      return row -> Bytes.toBytes(row.getDouble(i));
    }
    if (type instanceof FloatType) {
      return row -> Bytes.toBytes(row.getFloat(i));
    }
    if (type instanceof ShortType) {
      return row -> Bytes.toBytes(row.getShort(i));
    }
    if (type instanceof ByteType) {
      return row -> new byte[] {row.getByte(i)};
    }
    if (type instanceof BooleanType) {
      return row -> Bytes.toBytes(row.getBoolean(i));
    }
    DecimalType decimal = (DecimalType) type;
    return row -> Bytes.toBytes(row.getDecimal(i, decimal.precision(), decimal.scale()).toJavaBigDecimal());
  }

  static ValueDecoder decoder(DataType type) {
    if (type instanceof StringType) {
      return (bytes, from, length) -> UTF8String.fromBytes(Bytes.copy(bytes, from, length));
    }
    if (type instanceof BinaryType) {
      return Bytes::copy;
    }
    if (type instanceof DecimalType decimal) {
      return (bytes, from, length) -> decimal(decimal, bytes, from, length);
    }
    ValueDecoder plain = fixed(type);
    int width = width(type);
    return (bytes, from, length) -> {
      if (length != width) {
        throw new IllegalArgumentException(type.sql() + " has " + width + " bytes and this has " + length);
      }
      return plain.decode(bytes, from, length);
    };
  }

  private static ValueDecoder fixed(DataType type) {
    if (isLong(type)) {
      return Bytes::toLong;
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return Bytes::toInt;
    }
    if (type instanceof DoubleType) {
      return (bytes, from, length) -> Bytes.toDouble(bytes, from);
    }
    if (type instanceof FloatType) {
      return (bytes, from, length) -> Bytes.toFloat(bytes, from);
    }
    if (type instanceof ShortType) {
      return Bytes::toShort;
    }
    if (type instanceof ByteType) {
      return (bytes, from, length) -> bytes[from];
    }
    return (bytes, from, length) -> bytes[from] != 0;
  }

  private static Decimal decimal(DecimalType type, byte[] bytes, int from, int length) {
    BigDecimal value = length <= Integer.BYTES ? null : Bytes.toBigDecimal(bytes, from, length);
    if (value == null) {
      throw new IllegalArgumentException("a DECIMAL has at least 5 bytes and this has " + length);
    }
    Decimal decimal = Decimal.apply(value);
    if (!decimal.changePrecision(type.precision(), type.scale())
        || decimal.toJavaBigDecimal().compareTo(value) != 0) {
      throw new IllegalArgumentException("the stored number does not fit into " + type.sql());
    }
    return decimal;
  }
}
