package io.milepost.hbase.mapping;

import io.milepost.kafka.reader.RecordSchema;
import io.milepost.record.Origin;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads the column `_kafka` by position; it is absent where a row does not come from a single record. */
public final class KafkaColumn implements Serializable {
  private static final int TOPIC = RecordSchema.ORIGIN.fieldIndex("topic");
  private static final int PARTITION = RecordSchema.ORIGIN.fieldIndex("partition");
  private static final int OFFSET = RecordSchema.ORIGIN.fieldIndex("offset");
  private static final int TIMESTAMP = RecordSchema.ORIGIN.fieldIndex("timestamp");
  private static final int TOMBSTONE = RecordSchema.ORIGIN.fieldIndex("tombstone");
  private static final int FIELDS = RecordSchema.ORIGIN.length();

  private final int ordinal;

  private KafkaColumn(int ordinal) {
    this.ordinal = ordinal;
  }

  public static KafkaColumn of(StructType schema) {
    int ordinal = Mapping.ordinal(schema, RecordSchema.KAFKA);
    boolean ours = ordinal >= 0 && schema.fields()[ordinal].dataType().sameType(RecordSchema.ORIGIN);
    return new KafkaColumn(ours ? ordinal : -1);
  }

  public boolean isPresent() {
    return ordinal >= 0;
  }

  /** The fields below are read from what this returns; null where the row has none. */
  public InternalRow read(InternalRow row) {
    return ordinal < 0 || row.isNullAt(ordinal) ? null : row.getStruct(ordinal, FIELDS);
  }

  public static UTF8String topic(InternalRow kafka) {
    return kafka.getUTF8String(TOPIC);
  }

  public static int partition(InternalRow kafka) {
    return kafka.getInt(PARTITION);
  }

  public static long offset(InternalRow kafka) {
    return kafka.getLong(OFFSET);
  }

  public static boolean hasTimestamp(InternalRow kafka) {
    return !kafka.isNullAt(TIMESTAMP);
  }

  public static long timestampMicros(InternalRow kafka) {
    return kafka.getLong(TIMESTAMP);
  }

  public static boolean isTombstone(InternalRow kafka) {
    return kafka != null && kafka.getBoolean(TOMBSTONE);
  }

  public static Origin origin(InternalRow kafka) {
    return kafka == null ? null : new Origin(topic(kafka).toString(), partition(kafka), offset(kafka));
  }
}
