package io.milepost.hbase.mapping;

import java.io.CharArrayWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JsonToStructs;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonGenerator;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Encoding `json`: the text that Spark's to_json produces, with times to the microsecond so that nothing is lost.
 *
 * <p>Spark writes arrays and objects only, so a value is written as the single element of an array.
 */
final class JsonCodec {
  private static final scala.collection.immutable.Map<String, String> FORMAT = scala.collection.immutable.Map.from(
      CollectionConverters.asScala(Map.of(
          "timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
          "timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
          "ignoreNullFields", "true",
          "mode", "FAILFAST")));

  private JsonCodec() {}

  static ValueEncoder encoder(DataType type, int ordinal, String timeZone) {
    CharArrayWriter text = new CharArrayWriter();
    JacksonGenerator generator = new JacksonGenerator(
        new ArrayType(type, false), text, new JSONOptions(FORMAT, timeZone, ""));
    return row -> {
      generator.write(new GenericArrayData(new Object[] {row.get(ordinal, type)}));
      generator.flush();
      byte[] wrapped = text.toString().getBytes(StandardCharsets.UTF_8);
      text.reset();
      return Arrays.copyOfRange(wrapped, 1, wrapped.length - 1);
    };
  }

  static ValueDecoder decoder(DataType type, String timeZone) {
    JsonToStructs parser = new JsonToStructs(new ArrayType(type, true), FORMAT,
        new BoundReference(0, DataTypes.StringType, true), Option.apply(timeZone), false);
    return (bytes, from, length) -> {
      byte[] wrapped = new byte[length + 2];
      wrapped[0] = '[';
      System.arraycopy(bytes, from, wrapped, 1, length);
      wrapped[length + 1] = ']';
      ArrayData values = parse(parser, wrapped);
      if (values == null || values.numElements() != 1 || values.isNullAt(0)) {
        throw new IllegalArgumentException("this text is not JSON of type " + type.sql());
      }
      return values.get(0, type);
    };
  }

  private static ArrayData parse(JsonToStructs parser, byte[] text) {
    InternalRow row = new GenericInternalRow(new Object[] {UTF8String.fromBytes(text)});
    try {
      return (ArrayData) parser.eval(row);
    } catch (Exception e) {
      // Spark's message repeats the whole text; the reader names the cell.
      return null;
    }
  }
}
