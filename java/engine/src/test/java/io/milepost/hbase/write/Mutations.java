package io.milepost.hbase.write;

import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mapping.KafkaColumn;
import io.milepost.hbase.mutation.RowChange;
import io.milepost.record.BadRecordException;
import org.apache.hadoop.hbase.client.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Mutations made from rows, for the tests of this package. */
final class Mutations {
  private Mutations() {}

  static RowToMutation converter(HBaseOptions options, StructType schema) {
    return new RowToMutation(options, schema, new RowVersion(options, schema, Rows.EPOCH, () -> Rows.NOW));
  }

  /** The mutation of one row as the writer would make it. */
  static Row mutation(HBaseOptions options, StructType schema, InternalRow row) throws BadRecordException {
    RowToMutation converter = converter(options, schema);
    InternalRow kafka = KafkaColumn.of(schema).read(row);
    return switch (converter.op(row, kafka)) {
      case UPSERT -> action(converter.upsert(row, kafka));
      case DELETE -> action(converter.delete(row, kafka));
      case IGNORE -> null;
    };
  }

  private static Row action(RowChange change) {
    return change == null ? null : change.action();
  }
}
