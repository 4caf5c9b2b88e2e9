package io.milepost.decode.avro;

import io.milepost.decode.text.Detail;
import org.apache.avro.Schema;
import org.apache.spark.sql.avro.SchemaConverters;
import org.apache.spark.sql.types.StructType;

/** Parses and checks an Avro schema, and maps it to the columns that Spark would give it. */
public final class AvroSchemas {
  private AvroSchemas() {}

  public static Schema parse(String text) {
    Schema schema;
    try {
      schema = new Schema.Parser().parse(text);
    } catch (RuntimeException e) {
      // Not only Avro's own exceptions: an unknown type causes a NullPointerException in its parser.
      throw new IllegalArgumentException("schema: not an Avro schema: " + Detail.firstLine(e), e);
    }
    if (schema.getType() != Schema.Type.RECORD) {
      throw new IllegalArgumentException(
          "schema: the Avro schema is of type " + schema.getType().getName() + "; columns need a record.");
    }
    if (schema.getFields().isEmpty()) {
      throw new IllegalArgumentException("schema: the Avro record " + schema.getFullName() + " has no field.");
    }
    return schema;
  }

  public static StructType columns(Schema schema) {
    try {
      return (StructType) SchemaConverters.toSqlType(schema).dataType();
    } catch (Exception e) {
      // Scala does not declare what it throws: the refusal of a recursive schema is a checked exception.
      throw new IllegalArgumentException("schema: the Avro record " + schema.getFullName()
          + " has no form as columns (it is recursive, or has a type Spark lacks): " + Detail.firstLine(e), e);
    }
  }
}
