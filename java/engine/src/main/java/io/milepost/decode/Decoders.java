package io.milepost.decode;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The formats by their options. {@code format} is raw, string, json or avro; {@code schema} is DDL for json and the
 * record's Avro schema for avro; {@code avro.confluent-header} says that a schema id precedes each Avro body.
 */
public final class Decoders {
  private static final String FORMAT = "format";
  private static final String SCHEMA = "schema";
  private static final String CONFLUENT_HEADER = "avro.confluent-header";
  /** The source adds this column to every row. */
  private static final String RESERVED = "_kafka";

  private Decoders() {}

  /** The data columns; throws IllegalArgumentException, naming the option, where the options make no sense. */
  public static StructType schema(Map<String, String> options) {
    StructType columns = columns(options);
    Set<String> names = new HashSet<>();
    for (String name : columns.fieldNames()) {
      if (name.equals(RESERVED)) {
        throw new IllegalArgumentException("schema: the source adds a column `_kafka`; give yours another name.");
      }
      if (!names.add(name)) {
        throw new IllegalArgumentException("schema: the column `" + name + "` is there twice.");
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
      default -> new AvroDecoder(AvroSchemas.parse(required(options, SCHEMA)), flag(options, CONFLUENT_HEADER));
    };
  }

  private static StructType columns(Map<String, String> options) {
    String format = required(options, FORMAT);
    return switch (format) {
      case "raw" -> keyAndValue(DataTypes.BinaryType);
      case "string" -> keyAndValue(DataTypes.StringType);
      case "json" -> ddl(required(options, SCHEMA));
      case "avro" -> AvroSchemas.columns(AvroSchemas.parse(required(options, SCHEMA)));
      default -> throw new IllegalArgumentException(
          "format: `" + format + "` is not one of raw, string, json and avro.");
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
          + firstLine(e), e);
    }
    if (columns.isEmpty()) {
      throw new IllegalArgumentException("schema: there is no column in it.");
    }
    return columns;
  }

  private static String required(Map<String, String> options, String key) {
    String value = options.get(key);
    if (value == null || value.isBlank()) {
      throw new IllegalArgumentException(key + ": it is missing" + (key.equals(SCHEMA)
          ? ", and the format " + options.get(FORMAT) + " needs one." : "; give raw, string, json or avro."));
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

  static String firstLine(Throwable e) {
    String message = String.valueOf(e.getMessage()).strip();
    return message.lines().findFirst().orElse(e.getClass().getSimpleName());
  }
}
