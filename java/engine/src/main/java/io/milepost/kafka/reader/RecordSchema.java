package io.milepost.kafka.reader;

import io.milepost.decode.Decoders;
import java.util.Map;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns of a decoded record: those of its format, and `_kafka`, where it came from. */
public final class RecordSchema {
  public static final String KAFKA = "_kafka";

  /** The fields of `_kafka`, in the order in which {@link DecodingReader} fills them. */
  public static final StructType ORIGIN = new StructType()
      .add("topic", DataTypes.StringType, false)
      .add("partition", DataTypes.IntegerType, false)
      .add("offset", DataTypes.LongType, false)
      .add("timestamp", DataTypes.TimestampType, true)
      .add("key", DataTypes.BinaryType, true)
      .add("tombstone", DataTypes.BooleanType, false);

  private RecordSchema() {}

  public static StructType of(Map<String, String> options) {
    StructType schema = new StructType();
    for (StructField field : Decoders.schema(options).fields()) {
      // A tombstone has no value, so no column of it can promise to be there.
      schema = schema.add(new StructField(field.name(), field.dataType(), true, field.metadata()));
    }
    return schema.add(KAFKA, ORIGIN, false);
  }
}
