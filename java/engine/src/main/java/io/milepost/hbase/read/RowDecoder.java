package io.milepost.hbase.read;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mapping.Mapping;
import io.milepost.hbase.mapping.RowKeyDecoder;
import io.milepost.hbase.mapping.ValueDecoder;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** Decodes the newest cells of an HBase row to a typed row: the inverse of the write path. Not thread safe. */
final class RowDecoder {
  private final Mapping mapping;
  private final RowKeyDecoder key;
  private final ValueDecoder[] decoders;
  private final boolean emptyIsNull;
  private final boolean json;
  private final boolean needsKey;
  /** The columns in the schema's order, and which of them a row of the query has. */
  private final Object[] columns;
  private final int[] required;

  /** `required` are the columns of `schema` that the rows have, in their order. */
  RowDecoder(HBaseOptions options, StructType schema, StructType required) {
    mapping = Mapping.forRead(options, schema);
    key = new RowKeyDecoder(options, mapping.key());
    emptyIsNull = options.nulls() == HBaseOptions.Nulls.EMPTY;
    json = options.encoding() == HBaseOptions.Encoding.JSON;
    columns = new Object[schema.length()];
    this.required = Arrays.stream(required.fieldNames()).mapToInt(name -> Mapping.ordinal(schema, name)).toArray();
    Set<Integer> needed = Arrays.stream(this.required).boxed().collect(Collectors.toSet());
    needsKey = mapping.key().stream().anyMatch(column -> needed.contains(column.ordinal()));
    decoders = new ValueDecoder[mapping.values().size()];
    for (int i = 0; i < decoders.length; i++) {
      Mapping.ValueColumn column = mapping.values().get(i);
      decoders[i] = needed.contains(column.ordinal()) ? ValueDecoder.of(options, column.type()) : null;
    }
  }

  InternalRow decode(Result result) {
    Arrays.fill(columns, null);
    for (int i = 0; i < decoders.length; i++) {
      Mapping.ValueColumn column = mapping.values().get(i);
      Cell cell = decoders[i] == null ? null : result.getColumnLatestCell(column.family(), column.qualifier());
      if (cell != null && !isNull(cell, column.type())) {
        columns[column.ordinal()] = value(i, cell);
      }
    }
    try {
      if (needsKey) {
        key.decode(result.getRow(), columns);
      }
    } catch (IllegalArgumentException e) {
      throw wrong(result.getRow(), "", e);
    }
    Object[] row = new Object[required.length];
    for (int i = 0; i < row.length; i++) {
      row[i] = columns[required[i]];
    }
    return new GenericInternalRow(row);
  }

  /** Where nulls are written as empty cells, an empty text stays a text: it is one too. */
  private boolean isNull(Cell cell, DataType type) {
    return emptyIsNull && cell.getValueLength() == 0
        && (json || !(type instanceof StringType || type instanceof BinaryType));
  }

  private Object value(int i, Cell cell) {
    try {
      return decoders[i].decode(cell.getValueArray(), cell.getValueOffset(), cell.getValueLength());
    } catch (IllegalArgumentException e) {
      Mapping.ValueColumn column = mapping.values().get(i);
      byte[] row = Bytes.copy(cell.getRowArray(), cell.getRowOffset(), cell.getRowLength());
      throw wrong(row, ", column '" + column.name() + "' (" + Bytes.toStringBinary(column.family()) + ":"
          + Bytes.toStringBinary(column.qualifier()) + ", read as " + column.type().sql() + ")", e);
    }
  }

  private static IllegalArgumentException wrong(byte[] row, String where, IllegalArgumentException cause) {
    return new IllegalArgumentException("Row '" + Bytes.toStringBinary(row) + "'" + where + " cannot be read: "
        + cause.getMessage() + ". Check that the schema and the option 'encoding' are those it was written with.", cause);
  }
}
