package io.milepost.decode;

import io.milepost.decode.avro.AvroDecoder;
import io.milepost.decode.avro.AvroSchemas;
import io.milepost.decode.change.CanalDecoder;
import io.milepost.decode.change.ChangeDecoder;
import io.milepost.decode.change.DebeziumDecoder;
import io.milepost.decode.change.RowKeyColumns;
import io.milepost.decode.json.JsonDecoder;
import io.milepost.decode.text.Detail;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Creates the decoder of a format from options. {@code format} is raw, string, json, avro, debezium-json or
 * canal-json. {@code schema} is the Avro schema of the record for avro, and DDL otherwise. {@code
 * avro.confluent-header} says that a schema id precedes each Avro body. For the two change-log formats, {@code
 * row-key} names the key columns of the row, where the source can know them, and {@code nulls} says what the sink
 * does with a null.
 */
public final class Decoders {
  private static final String FORMAT = "format";
  private static final String SCHEMA = "schema";
  private static final String CONFLUENT_HEADER = "avro.confluent-header";
  private static final String ROW_KEY = "row-key";
  private static final String NULLS = "nulls";
  /** The source adds this column to every row. */
  private static final String RESERVED = "_kafka";
  /** Schemas parsed in this JVM: every task of every batch needs one, and a batch may last only milliseconds. */
  private static final Map<String, StructType> PARSED = new ConcurrentHashMap<>();

  private Decoders() {}

  /** The data columns; throws IllegalArgumentException, naming the option, where the options are invalid. */
  public static StructType schema(Map<String, String> options) {
    StructType columns = columns(options);
    Set<String> names = new HashSet<>();
    for (String name : columns.fieldNames()) {
      if (name.equals(RESERVED)) {
        throw new IllegalArgumentException("schema: the source adds a column `_kafka`; give yours another name.");
      }
      if (!names.add(name)) {
        throw new IllegalArgumentException("schema: the column `" + name + "` is declared twice.");
      }
    }
    return columns;
  }

  /** A new decoder for one task; throws as {@link #schema} does, and for a type that the format cannot carry. */
  public static RecordDecoder of(Map<String, String> options) {
    StructType columns = schema(options);
    return switch (required(options, FORMAT)) {
      case "raw" -> new RawDecoder();
      case "string" -> new StringDecoder();
      case "json" -> new JsonDecoder(columns);
      case "avro" -> new AvroDecoder(AvroSchemas.parse(required(options, SCHEMA)), flag(options, CONFLUENT_HEADER));
      default -> throw new IllegalArgumentException("format: a change-log record is not a row.");
    };
  }

  /**
   * A new change-log decoder for one task; null where the format is not a change log. Throws as {@link #schema} does.
   */
  public static ChangeDecoder changes(Map<String, String> options) {
    StructType columns = schema(options);
    RowKeyColumns rowKey = new RowKeyColumns(columns, options.get(ROW_KEY));
    return switch (required(options, FORMAT)) {
      case "debezium-json" ->
          new DebeziumDecoder(columns, rowKey, options.getOrDefault(NULLS, "skip").equals("skip"));
      case "canal-json" -> new CanalDecoder(columns, rowKey);
      default -> null;
    };
  }

  private static StructType columns(Map<String, String> options) {
    String format = required(options, FORMAT);
    return switch (format) {
      case "raw" -> keyAndValue(DataTypes.BinaryType);
      case "string" -> keyAndValue(DataTypes.StringType);
      case "json", "debezium-json", "canal-json" -> PARSED.computeIfAbsent(required(options, SCHEMA), Decoders::ddl);
      case "avro" -> AvroSchemas.columns(AvroSchemas.parse(required(options, SCHEMA)));
      default -> throw new IllegalArgumentException(
          "format: `" + format + "` is not one of raw, string, json, avro, debezium-json and canal-json.");
    };
  }

  private static StructType keyAndValue(DataType type) {
    return new StructType().add("key", type, true).add("value", type, true);
  }

  private static StructType ddl(String text) {
    StructType columns;
    try {
      columns = StructType.fromDDL(text);
    } catch (Exception e) {
      // Scala does not declare what it throws: the parser's own exception is a checked one.
      throw new IllegalArgumentException("schema: not a column list such as `id STRING NOT NULL, amount DOUBLE`: "
          + Detail.firstLine(e), e);
    }
    if (columns.isEmpty()) {
      throw new IllegalArgumentException("schema: it declares no column.");
    }
    return columns;
  }

  private static String required(Map<String, String> options, String key) {
    String value = options.get(key);
    if (value == null || value.isBlank()) {
      throw new IllegalArgumentException(key + ": it is missing" + (key.equals(SCHEMA)
          ? ", and the format " + options.get(FORMAT) + " needs one." : "; give raw, string, json, avro, debezium-json or canal-json."));
    }
    return value;
  }

  private static boolean flag(Map<String, String> options, String key) {
    String value = options.getOrDefault(key, "false");
    if (!value.equals("true") && !value.equals("false")) {
      throw new IllegalArgumentException(key + ": `" + value + "` is neither true nor false.");
    }
    return value.equals("true");
  }
}
