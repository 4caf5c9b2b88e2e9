package io.milepost.hbase.mapping;

import io.milepost.hbase.client.HBaseOptions;
import org.apache.spark.sql.types.DataType;

/**
 * Decodes the bytes of a cell to a column value in Spark's internal form: the inverse of {@link ValueEncoder}. Not
 * thread safe.
 */
@FunctionalInterface
public interface ValueDecoder {
  /** Throws IllegalArgumentException with a clause that describes what is wrong with these bytes. */
  Object decode(byte[] bytes, int from, int length);

  static ValueDecoder of(HBaseOptions options, DataType type) {
    return switch (options.encoding()) {
      case NATIVE -> NativeCodec.decoder(type);
      case STRING -> TextCodec.decoder(type, options.timeZone());
      case JSON -> JsonCodec.decoder(type, options.timeZone());
    };
  }
}
