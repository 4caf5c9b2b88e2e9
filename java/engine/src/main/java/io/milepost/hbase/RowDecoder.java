package io.milepost.hbase;

import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** Makes a typed row of the newest cells of an HBase row: the inverse of {@link RowToMutation}. Not thread safe. */
final class RowDecoder {
  private final Mapping mapping;
  private final RowKeyDecoder key;
  private final ValueDecoder[] decoders;
  private final boolean emptyIsNull;
  private final boolean json;
  private final int width;

  RowDecoder(HBaseOptions options, StructType schema) {
    mapping = Mapping.forRead(options, schema);
    key = new RowKeyDecoder(options, mapping.key());
    emptyIsNull = options.nulls() == HBaseOptions.Nulls.EMPTY;
    json = options.encoding() == HBaseOptions.Encoding.JSON;
    width = schema.length();
    decoders = new ValueDecoder[mapping.values().size()];
    for (int i = 0; i < decoders.length; i++) {
      Mapping.ValueColumn column = mapping.values().get(i);
      decoders[i] = column.isPresent() ? ValueDecoder.of(options, column.type()) : null;
    }
  }

  /** Every mapped column, also those outside the schema: a row is there when any of its cells is. */
  Scan narrow(Scan scan) {
    for (Mapping.ValueColumn column : mapping.values()) {
      scan.addColumn(column.family(), column.qualifier());
    }
    return scan;
  }

  InternalRow decode(Result result) {
    Object[] row = new Object[width];
    for (int i = 0; i < decoders.length; i++) {
      Mapping.ValueColumn column = mapping.values().get(i);
      Cell cell = decoders[i] == null ? null : result.getColumnLatestCell(column.family(), column.qualifier());
      if (cell != null && !isNull(cell, column.type())) {
        row[column.ordinal()] = value(i, cell);
      }
    }
    try {
      key.decode(result.getRow(), row);
    } catch (IllegalArgumentException e) {
      throw wrong(result.getRow(), "", e);
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
