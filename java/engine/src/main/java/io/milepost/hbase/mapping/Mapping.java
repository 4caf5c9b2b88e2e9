package io.milepost.hbase.mapping;

import io.milepost.hbase.client.ColumnsParser;
import io.milepost.hbase.client.HBaseOptions;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Maps columns to row-key parts and cells. Resolved against a schema once, so that no row is searched by name. */
public record Mapping(List<KeyColumn> key, List<ValueColumn> values) implements Serializable {
  private static final int MAX_QUALIFIER_BYTES = Short.MAX_VALUE;

  /** A part of the row key. */
  public record KeyColumn(String name, int ordinal, DataType type) implements Serializable {}

  /** A cell; the ordinal is -1 where the schema does not have the column. */
  public record ValueColumn(String name, int ordinal, DataType type, byte[] family, byte[] qualifier) implements Serializable {
    boolean isPresent() {
      return ordinal >= 0;
    }
  }

  /** For the sink: every column that the options name must be in the schema. */
  public static Mapping forWrite(HBaseOptions options, StructType schema) {
    Mapping mapping = of(options, schema);
    for (ValueColumn column : mapping.values) {
      if (!column.isPresent()) {
        throw missing(HBaseOptions.COLUMNS, column.name(), schema);
      }
    }
    mapping.checkTypes(options);
    return mapping;
  }

  /** For the reader: the schema may leave mapped columns out, but may not name unmapped columns. */
  public static Mapping forRead(HBaseOptions options, StructType schema) {
    Mapping mapping = of(options, schema);
    for (StructField field : schema.fields()) {
      boolean mapped = mapping.key.stream().anyMatch(column -> column.name().equals(field.name()))
          || mapping.values.stream().anyMatch(column -> column.name().equals(field.name()));
      if (!mapped) {
        throw new IllegalArgumentException("Column '" + field.name() + "' of the schema is neither in the option 'row-key'"
            + " nor in 'columns', so there is no cell to read it from. Map it, or leave it out of the schema.");
      }
    }
    mapping.checkTypes(options);
    return mapping;
  }

  private static Mapping of(HBaseOptions options, StructType schema) {
    List<KeyColumn> key = new ArrayList<>();
    for (String name : options.rowKey()) {
      int ordinal = ordinal(schema, name);
      if (ordinal < 0) {
        throw missing(HBaseOptions.ROW_KEY, name, schema);
      }
      key.add(new KeyColumn(name, ordinal, schema.fields()[ordinal].dataType()));
    }
    List<ValueColumn> values = new ArrayList<>();
    for (ColumnsParser.Target target : options.columns()) {
      int ordinal = ordinal(schema, target.column());
      DataType type = ordinal < 0 ? null : schema.fields()[ordinal].dataType();
      byte[] qualifier = target.qualifier().getBytes(StandardCharsets.UTF_8);
      if (qualifier.length > MAX_QUALIFIER_BYTES) {
        throw HBaseOptions.invalid(HBaseOptions.COLUMNS, target.qualifier().substring(0, 40) + "…",
            "the qualifier has " + qualifier.length + " bytes", "use at most " + MAX_QUALIFIER_BYTES);
      }
      values.add(new ValueColumn(target.column(), ordinal, type,
          target.family().getBytes(StandardCharsets.UTF_8), qualifier));
    }
    // In HBase's own order: mutations of one row can then be folded by walking both lists once.
    values.sort(Comparator.comparing(ValueColumn::family, Bytes.BYTES_COMPARATOR)
        .thenComparing(ValueColumn::qualifier, Bytes.BYTES_COMPARATOR));
    return new Mapping(key, values);
  }

  public byte[][] families() {
    List<byte[]> families = new ArrayList<>();
    for (ValueColumn column : values) {
      if (families.isEmpty() || !Arrays.equals(families.get(families.size() - 1), column.family())) {
        families.add(column.family());
      }
    }
    return families.toArray(new byte[0][]);
  }

  private void checkTypes(HBaseOptions options) {
    HBaseOptions.Encoding encoding = options.encoding();
    for (KeyColumn column : key) {
      boolean fits = encoding == HBaseOptions.Encoding.NATIVE
          ? NativeCodec.supports(column.type()) : TextCodec.supportsBothWays(column.type());
      if (!fits) {
        throw new IllegalArgumentException("Column '" + column.name() + "' is " + column.type().sql()
            + " and cannot be part of the row key: such a value has no unambiguous bytes. Use a column of a simple type.");
      }
    }
    for (ValueColumn column : values) {
      if (encoding == HBaseOptions.Encoding.NATIVE && column.isPresent() && !NativeCodec.supports(column.type())) {
        throw new IllegalArgumentException("Column '" + column.name() + "' is " + column.type().sql()
            + ", which has no native encoding in HBase. Use encoding json, or give the column a simple type.");
      }
    }
  }

  public static int ordinal(StructType schema, String name) {
    return Arrays.asList(schema.fieldNames()).indexOf(name);
  }

  public static IllegalArgumentException missing(String option, String name, StructType schema) {
    String near = Arrays.stream(schema.fieldNames()).filter(name::equalsIgnoreCase).findFirst()
        .map(other -> " Did you mean '" + other + "'?").orElse("");
    return new IllegalArgumentException("Option '" + option + "' names column '" + name
        + "', which the rows do not have. They have: " + String.join(", ", schema.fieldNames()) + "." + near
        + " Select the column in the transform, or take it out of the option.");
  }
}
