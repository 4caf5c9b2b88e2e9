package io.milepost.hbase.mapping;

import io.milepost.hbase.client.HBaseOptions;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;

/** Encodes one column of a row; never called where the column is null. Not thread safe. */
@FunctionalInterface
public interface ValueEncoder {
  byte[] encode(InternalRow row);

  static ValueEncoder of(HBaseOptions options, DataType type, int ordinal) {
    return switch (options.encoding()) {
      case NATIVE -> NativeCodec.encoder(type, ordinal);
      case STRING -> TextCodec.encoder(type, ordinal, options.timeZone());
      case JSON -> JsonCodec.encoder(type, ordinal, options.timeZone());
    };
  }
}
