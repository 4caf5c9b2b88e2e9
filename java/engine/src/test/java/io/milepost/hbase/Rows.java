package io.milepost.hbase;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mutation.RowChange;
import io.milepost.kafka.reader.RecordSchema;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.function.Executable;

/** Rows, schemas and options for the tests of this package and those below it. */
public final class Rows {
  public static final long NOW = 1_760_000_000_000L;
  public static final long EPOCH = 7;

  private Rows() {}

  /** Options of a table with row key `id` and column `d:v`, changed by pairs of key and value. */
  public static HBaseOptions options(String... pairs) {
    Map<String, String> options = new HashMap<>(Map.of(
        "quorum", "localhost:2181", "table", "orders", "row-key", "[\"id\"]", "columns", "{\"d\": [\"v\"]}",
        "time-zone", "UTC"));
    for (int i = 0; i < pairs.length; i += 2) {
      options.put(pairs[i], pairs[i + 1]);
    }
    options.values().removeIf(String::isEmpty);
    return new HBaseOptions(options);
  }

  /** `id STRING, v <type>, op STRING, _kafka`. */
  public static StructType schema(DataType type) {
    return new StructType().add("id", DataTypes.StringType).add("v", type).add("op", DataTypes.StringType)
        .add(RecordSchema.KAFKA, RecordSchema.ORIGIN);
  }

  public static InternalRow row(Object... values) {
    Object[] internal = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      internal[i] = values[i] instanceof String text ? UTF8String.fromString(text) : values[i];
    }
    return new GenericInternalRow(internal);
  }

  public static InternalRow kafka(long offset) {
    return kafka(offset, NOW * 1000, false);
  }

  public static InternalRow kafka(long offset, Long micros, boolean tombstone) {
    return row("topic", 3, offset, micros, null, tombstone);
  }

  /** The change that the client's own action stands for. */
  public static RowChange change(Row action) {
    List<Mutation> mutations = action instanceof RowMutations several ? several.getMutations() : List.of((Mutation) action);
    return new RowChange(action.getRow(), cells(mutations, Put.class), cells(mutations, Delete.class));
  }

  private static KeyValue[] cells(List<Mutation> mutations, Class<?> kind) {
    return mutations.stream().filter(kind::isInstance).flatMap(mutation -> mutation.getFamilyCellMap().values().stream())
        .flatMap(List::stream).map(KeyValue.class::cast).toArray(KeyValue[]::new);
  }

  public static RowMutations both(Delete delete, Put put) {
    try {
      return RowMutations.of(List.of(delete, put));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static void assertBad(Reason reason, String part, Executable action) {
    BadRecordException e = Assertions.assertThrows(BadRecordException.class, action);
    Assertions.assertEquals(reason, e.reason());
    Assertions.assertTrue(e.getMessage().contains(part), e.getMessage());
  }

  public static void assertRefused(String part, Executable action) {
    IllegalArgumentException e = Assertions.assertThrows(IllegalArgumentException.class, action);
    Assertions.assertTrue(e.getMessage().contains(part), e.getMessage());
  }
}
