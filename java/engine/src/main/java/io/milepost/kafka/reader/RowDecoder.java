package io.milepost.kafka.reader;

import io.milepost.decode.RecordDecoder;
import io.milepost.record.BadRecordException;
import io.milepost.record.Origin;
import io.milepost.record.Reason;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Decodes a record of Spark's Kafka source to rows, usually one. The row is reused: copy it to keep it. */
class RowDecoder {
  // The columns of Spark's Kafka source.
  private static final int KEY = 0;
  private static final int VALUE = 1;
  private static final int TOPIC = 2;
  private static final int PARTITION = 3;
  private static final int OFFSET = 4;
  private static final int TIMESTAMP = 5;

  private final RecordDecoder decoder;
  private final int width;
  private final int keyOrdinal;
  private final DataType keyType;
  private final Object[] values;
  private final Object[] origin = new Object[RecordSchema.ORIGIN.size()];
  private final GenericInternalRow row;

  /** `keyColumn` takes the key of a tombstone; where the records have no such column its row key stays null. */
  RowDecoder(StructType schema, RecordDecoder decoder, String keyColumn) {
    this.decoder = decoder;
    this.width = schema.size();
    this.keyOrdinal = Arrays.asList(schema.fieldNames()).indexOf(keyColumn);
    this.keyType = keyOrdinal < 0 ? null : schema.apply(keyOrdinal).dataType();
    this.values = new Object[width + 1];
    this.row = new GenericInternalRow(values);
    values[width] = new GenericInternalRow(origin);
  }

  /** The first row of the record; null where it has none. */
  InternalRow decode(InternalRow record) throws BadRecordException {
    byte[] key = key(record);
    boolean tombstone = record.isNullAt(VALUE);
    setOrigin(record, key, tombstone);
    if (tombstone) {
      Arrays.fill(values, 0, width, null);
      if (keyOrdinal >= 0) {
        values[keyOrdinal] = keyValue(key);
      }
    } else {
      decoder.decode(key, record.getBinary(VALUE), values);
    }
    return row;
  }

  /** Whether the record that was decoded last has another row. */
  boolean hasMore() {
    return false;
  }

  /** The next row of the record that was decoded last. */
  InternalRow more() {
    throw new IllegalStateException("a record of this format has one row");
  }

  final void setOrigin(InternalRow record, byte[] key, boolean tombstone) {
    origin[0] = record.getUTF8String(TOPIC);
    origin[1] = record.getInt(PARTITION);
    origin[2] = record.getLong(OFFSET);
    origin[3] = record.isNullAt(TIMESTAMP) ? null : record.getLong(TIMESTAMP);
    origin[4] = key;
    origin[5] = tombstone;
  }

  /** The row with these columns, of the record whose origin was set last. */
  final InternalRow row(Object[] columns, boolean tombstone) {
    System.arraycopy(columns, 0, values, 0, width);
    origin[5] = tombstone;
    return row;
  }

  static Origin origin(InternalRow record) {
    return new Origin(record.getUTF8String(TOPIC).toString(), record.getInt(PARTITION), record.getLong(OFFSET));
  }

  static byte[] key(InternalRow record) {
    return record.isNullAt(KEY) ? null : record.getBinary(KEY);
  }

  static byte[] value(InternalRow record) {
    return record.isNullAt(VALUE) ? null : record.getBinary(VALUE);
  }

  /** A tombstone has only its key, so that is where its row key must come from. */
  private Object keyValue(byte[] key) throws BadRecordException {
    if (key == null) {
      throw new BadRecordException(Reason.BAD_ROW_KEY, "neither key nor value");
    }
    if (keyType instanceof BinaryType) {
      return key;
    }
    UTF8String text = UTF8String.fromBytes(key);
    if (!text.isValid()) {
      throw new BadRecordException(Reason.BAD_ROW_KEY, "the key of a tombstone is not valid UTF-8");
    }
    if (keyType instanceof StringType) {
      return text;
    }
    return NumericKey.parse(text, keyType);
  }
}
