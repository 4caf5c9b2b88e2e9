package io.milepost.hbase.write;

import io.milepost.hbase.client.HBaseOptions;
import java.util.Map;
import org.apache.spark.sql.types.StructType;

/** Called from Python before a query starts: checks whether the sink can write rows of this schema. */
public final class WriteCheck {
  private WriteCheck() {}

  /** The message that describes the fault, or null. Does not contact HBase. */
  public static String fault(Map<String, String> options, StructType schema) {
    try {
      new HBaseWriteBuilder(schema, new HBaseOptions(options)).build();
      return null;
    } catch (IllegalArgumentException e) {
      return e.getMessage();
    }
  }
}
