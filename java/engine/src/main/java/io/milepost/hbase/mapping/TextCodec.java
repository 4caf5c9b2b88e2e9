package io.milepost.hbase.mapping;

import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Enumeration;
import scala.Option;

/** Encoding `string`: the text that Spark's CAST AS STRING produces, in UTF-8. */
final class TextCodec {
  private TextCodec() {}

  /** True where the text can be cast back; arrays, maps and structs cannot. */
  static boolean supportsBothWays(DataType type) {
    return Cast.canCast(type, DataTypes.StringType) && Cast.canCast(DataTypes.StringType, type);
  }

  static ValueEncoder encoder(DataType type, int ordinal, String timeZone) {
    if (type instanceof StringType || type instanceof BinaryType) {
      return NativeCodec.encoder(type, ordinal);
    }
    Cast cast = cast(type, DataTypes.StringType, ordinal, timeZone, EvalMode.ANSI());
    return row -> ((UTF8String) cast.eval(row)).getBytes();
  }

  static ValueDecoder decoder(DataType type, String timeZone) {
    if (type instanceof StringType || type instanceof BinaryType) {
      return NativeCodec.decoder(type);
    }
    if (!supportsBothWays(type)) {
      throw new IllegalArgumentException("A column of " + type.sql() + " cannot be read back from its text."
          + " Read it as STRING, or write and read it with encoding json.");
    }
    Cast cast = cast(DataTypes.StringType, type, 0, timeZone, EvalMode.TRY());
    GenericInternalRow input = new GenericInternalRow(1);
    return (bytes, from, length) -> {
      input.update(0, UTF8String.fromBytes(Bytes.copy(bytes, from, length)));
      Object value = cast.eval(input);
      if (value == null) {
        throw new IllegalArgumentException("this text is not a valid " + type.sql());
      }
      return value;
    };
  }

  private static Cast cast(DataType from, DataType to, int ordinal, String timeZone, Enumeration.Value mode) {
    return new Cast(new BoundReference(ordinal, from, true), to, Option.apply(timeZone), mode);
  }
}
