package io.milepost.hbase.write;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mapping.KafkaColumn;
import io.milepost.hbase.mapping.Mapping;
import io.milepost.hbase.mapping.RowKeyEncoder;
import io.milepost.hbase.mapping.ValueEncoder;
import io.milepost.hbase.mutation.RowChange;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.util.Arrays;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Converts one row into one change or none, or refuses it; sends nothing. Not thread safe. */
final class RowToMutation {
  private static final byte[] EMPTY = new byte[0];
  private static final int MAX_SHOWN_OP = 40;
  /**
   * Far below the limit of one request to HBase (256 MiB), so that a huge row is refused here and not there, forever.
   */
  private static final long MAX_ROW_BYTES = 128L << 20;

  private final RowKeyEncoder key;
  private final RowVersion version;
  private final byte[][] families;
  private final Mapping.ValueColumn[] columns;
  private final ValueEncoder[] encoders;
  private final int opOrdinal;
  private final HBaseOptions.DeleteScope deleteScope;
  private final HBaseOptions.Nulls nulls;
  private final long maxCellBytes;

  RowToMutation(HBaseOptions options, StructType schema, RowVersion version) {
    Mapping mapping = Mapping.forWrite(options, schema);
    this.key = new RowKeyEncoder(options, mapping.key());
    this.version = version;
    this.families = mapping.families();
    this.columns = mapping.values().toArray(new Mapping.ValueColumn[0]);
    this.encoders = Arrays.stream(columns)
        .map(column -> ValueEncoder.of(options, column.type(), column.ordinal())).toArray(ValueEncoder[]::new);
    this.opOrdinal = options.op() == null ? -1 : Mapping.ordinal(schema, options.op());
    this.deleteScope = options.deleteScope();
    this.nulls = options.nulls();
    this.maxCellBytes = options.maxCellBytes();
  }

  /** Refuses, on the driver, an operation column that no row can satisfy. */
  static void checkOp(HBaseOptions options, StructType schema) {
    if (options.op() == null) {
      return;
    }
    int ordinal = Mapping.ordinal(schema, options.op());
    if (ordinal < 0) {
      throw Mapping.missing(HBaseOptions.OP, options.op(), schema);
    }
    if (!(schema.fields()[ordinal].dataType() instanceof StringType)) {
      throw new IllegalArgumentException("Operation column '" + options.op() + "' is "
          + schema.fields()[ordinal].dataType().sql() + ". It must hold words such as upsert and delete. Make it a STRING.");
    }
  }

  /** The operation of the row; `kafka` is its record, or null. */
  Op op(InternalRow row, InternalRow kafka) throws BadRecordException {
    if (KafkaColumn.isTombstone(kafka)) {
      return Op.DELETE;
    }
    if (opOrdinal < 0) {
      return Op.UPSERT;
    }
    if (row.isNullAt(opOrdinal)) {
      throw new BadRecordException(Reason.UNKNOWN_OP, "the operation is null");
    }
    UTF8String word = row.getUTF8String(opOrdinal);
    Op op = Op.of(word);
    if (op == null) {
      String shown = word.toString();
      throw new BadRecordException(Reason.UNKNOWN_OP, "the operation '"
          + (shown.length() > MAX_SHOWN_OP ? shown.substring(0, MAX_SHOWN_OP) + "…" : shown) + "' is unknown");
    }
    return op;
  }

  /** The change of an upsert; null where every column is null and nulls are skipped. */
  RowChange upsert(InternalRow row, InternalRow kafka) throws BadRecordException {
    byte[] rowKey = key.encode(row);
    long cellVersion = version.of(row, kafka);
    KeyValue[] puts = new KeyValue[columns.length];
    KeyValue[] markers = RowChange.NONE;
    int written = 0;
    int marked = 0;
    long total = 0;
    for (int i = 0; i < columns.length; i++) {
      Mapping.ValueColumn column = columns[i];
      byte[] value;
      if (!row.isNullAt(column.ordinal())) {
        value = encoders[i].encode(row);
      } else if (nulls == HBaseOptions.Nulls.SKIP) {
        continue;
      } else if (nulls == HBaseOptions.Nulls.EMPTY) {
        value = EMPTY;
      } else {
        markers = marked == 0 ? new KeyValue[columns.length - i] : markers;
        markers[marked++] = marker(rowKey, column, cellVersion);
        continue;
      }
      total += checkedSize(rowKey, column, value);
      puts[written++] =
          new KeyValue(rowKey, column.family(), column.qualifier(), cellVersion, KeyValue.Type.Put, value);
    }
    if (total > MAX_ROW_BYTES) {
      throw new BadRecordException(Reason.OVERSIZED,
          "the row has " + total + " bytes and one request takes " + MAX_ROW_BYTES);
    }
    return written + marked == 0 ? null : new RowChange(rowKey, first(puts, written), first(markers, marked));
  }

  RowChange delete(InternalRow row, InternalRow kafka) throws BadRecordException {
    long cellVersion = version.of(row, kafka);
    byte[] rowKey = key.encode(row);
    KeyValue[] markers = deleteScope == HBaseOptions.DeleteScope.ROW
        ? Arrays.stream(families).map(family -> new KeyValue(rowKey, family, null, cellVersion, KeyValue.Type.DeleteFamily))
            .toArray(KeyValue[]::new)
        : Arrays.stream(columns).map(column -> marker(rowKey, column, cellVersion)).toArray(KeyValue[]::new);
    return new RowChange(rowKey, RowChange.NONE, markers);
  }

  private static KeyValue marker(byte[] rowKey, Mapping.ValueColumn column, long cellVersion) {
    return new KeyValue(rowKey, column.family(), column.qualifier(), cellVersion, KeyValue.Type.DeleteColumn);
  }

  private static KeyValue[] first(KeyValue[] cells, int count) {
    return count == cells.length ? cells : count == 0 ? RowChange.NONE : Arrays.copyOf(cells, count);
  }

  /** The server counts four bytes more than the cell itself; what it would refuse must be refused here. */
  private long checkedSize(byte[] rowKey, Mapping.ValueColumn column, byte[] value) throws BadRecordException {
    long size = KeyValue.getKeyValueDataStructureSize(
        rowKey.length, column.family().length, column.qualifier().length, value.length, 0) + Bytes.SIZEOF_INT;
    if (size > maxCellBytes) {
      throw new BadRecordException(Reason.OVERSIZED, "column '" + column.name() + "' makes a cell of " + size
          + " bytes and HBase takes " + maxCellBytes);
    }
    return size;
  }
}
