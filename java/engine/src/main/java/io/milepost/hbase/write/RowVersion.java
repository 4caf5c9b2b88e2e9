package io.milepost.hbase.write;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mapping.KafkaColumn;
import io.milepost.hbase.mapping.Mapping;
import io.milepost.kafka.reader.RecordSchema;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import io.milepost.version.Eras;
import io.milepost.version.TopicEras;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.hadoop.hbase.HConstants;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The version of a row's cells, derived from the identity of the record so that a replay writes the same cells again.
 *
 * <p>Only `server-time` is not an identity: the region server's clock sets it, and a replay writes a second version.
 * That is at-least-once.
 */
final class RowVersion {
  /** The offset is below this bit, the generation above it: 2^48 offsets are enough for the lifetime of a partition. */
  private static final int GENERATION_SHIFT = 48;
  /** A version further ahead would hide every later update of the row until the clock reaches it. */
  private static final long MAX_FUTURE_MILLIS = TimeUnit.HOURS.toMillis(24);
  private static final long MICROS_PER_MILLI = 1000;

  private final HBaseOptions.VersionKind kind;
  private final long generation;
  private final Eras eras;
  private final long epoch;
  private final int ordinal;
  private final boolean micros;
  private final LongSupplier clock;
  private UTF8String topic;
  private TopicEras ofTopic;

  RowVersion(HBaseOptions options, StructType schema, long epoch, LongSupplier clock) {
    this.kind = options.versionKind();
    this.generation = options.generation();
    this.eras = kind == HBaseOptions.VersionKind.OFFSET ? options.eras() : null;
    this.epoch = epoch;
    this.clock = clock;
    this.ordinal = kind == HBaseOptions.VersionKind.COLUMN ? Mapping.ordinal(schema, options.versionColumn()) : -1;
    this.micros = ordinal >= 0 && schema.fields()[ordinal].dataType() instanceof TimestampType;
  }

  /** Refuses, on the driver, options that can only yield wrong versions. */
  static void check(HBaseOptions options, StructType schema) {
    HBaseOptions.VersionKind kind = options.versionKind();
    if (kind == HBaseOptions.VersionKind.COLUMN) {
      String name = options.versionColumn();
      int ordinal = Mapping.ordinal(schema, name);
      if (ordinal < 0) {
        throw Mapping.missing(HBaseOptions.VERSION, name, schema);
      }
      DataType type = schema.fields()[ordinal].dataType();
      if (!(type instanceof LongType || type instanceof TimestampType)) {
        throw new IllegalArgumentException("Version column '" + name + "' is " + type.sql()
            + ". A cell's version is a whole number. CAST it to BIGINT or TIMESTAMP in the transform.");
      }
    } else if ((kind == HBaseOptions.VersionKind.OFFSET || kind == HBaseOptions.VersionKind.TIMESTAMP)
        && !KafkaColumn.of(schema).isPresent()) {
      throw new IllegalArgumentException("Version '" + kind.name().toLowerCase(Locale.ROOT) + "'"
          + (options.hasVersion() ? "" : ", the default,") + " needs each row's Kafka record, and these rows have no column '"
          + RecordSchema.KAFKA + "': an aggregation or a join of streams has no single record per row."
          + " Set version to checkpoint or to column:<name>.");
    }
  }

  long of(InternalRow row, InternalRow kafka) throws BadRecordException {
    return switch (kind) {
      case OFFSET -> ofOffset(record(kafka));
      case CHECKPOINT -> generation << GENERATION_SHIFT | epoch;
      case TIMESTAMP -> ofTimestamp(record(kafka));
      case COLUMN -> ofColumn(row);
      case SERVER_TIME -> HConstants.LATEST_TIMESTAMP;
    };
  }

  private static InternalRow record(InternalRow kafka) throws BadRecordException {
    if (kafka == null) {
      throw new BadRecordException(Reason.BAD_VERSION, "the row has no Kafka record to take its version from");
    }
    return kafka;
  }

  private long ofOffset(InternalRow kafka) throws BadRecordException {
    long offset = KafkaColumn.offset(kafka);
    long version = eras == null ? generation << GENERATION_SHIFT | offset : ofEra(kafka, offset);
    if (offset < 0 || offset >>> GENERATION_SHIFT != 0 || version == Long.MAX_VALUE) {
      throw new BadRecordException(Reason.BAD_VERSION, "offset " + offset + " does not fit into a version");
    }
    return version;
  }

  private long ofEra(InternalRow kafka, long offset) {
    UTF8String name = KafkaColumn.topic(kafka);
    if (!name.equals(topic)) {
      topic = name.clone();
      ofTopic = eras.of(name.toString());
    }
    if (ofTopic == null) {
      return offset; // the topic has just appeared and is in its first era
    }
    int partition = KafkaColumn.partition(kafka);
    return ofTopic.version(partition, offset, ofTopic.isTimed(partition, offset) ? millis(kafka) : 0);
  }

  /** A record without a timestamp is older than all that have one. */
  private static long millis(InternalRow kafka) {
    return KafkaColumn.hasTimestamp(kafka) ? Math.floorDiv(KafkaColumn.timestampMicros(kafka), MICROS_PER_MILLI) : -1;
  }

  private long ofTimestamp(InternalRow kafka) throws BadRecordException {
    if (!KafkaColumn.hasTimestamp(kafka)) {
      throw new BadRecordException(Reason.BAD_VERSION, "the record has no timestamp");
    }
    long millis = millis(kafka);
    if (millis < 0) {
      throw new BadRecordException(Reason.BAD_VERSION, "timestamp " + millis + " of the record is negative");
    }
    if (millis - MAX_FUTURE_MILLIS > clock.getAsLong()) {
      throw new BadRecordException(Reason.BAD_VERSION, "timestamp " + millis
          + " of the record is more than 24 hours ahead and would hide later updates");
    }
    return millis;
  }

  private long ofColumn(InternalRow row) throws BadRecordException {
    if (row.isNullAt(ordinal)) {
      throw new BadRecordException(Reason.BAD_VERSION, "the version column is null");
    }
    long value = row.getLong(ordinal);
    long version = micros ? Math.floorDiv(value, MICROS_PER_MILLI) : value;
    if (version < 0 || version == Long.MAX_VALUE) {
      throw new BadRecordException(Reason.BAD_VERSION, "version " + version + " cannot be stored");
    }
    return version;
  }
}
