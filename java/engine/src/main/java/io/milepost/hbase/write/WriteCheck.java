package io.milepost.hbase.write;

import io.milepost.hbase.client.HBaseOptions;
import java.util.Map;
import org.apache.spark.sql.types.StructType;

/** What Python asks before a query starts: whether the sink could write rows of this schema. */
public final class WriteCheck {
  private WriteCheck() {}

  /** The sentence that says what is wrong, or null; HBase is not asked. */
  public static String fault(Map<String, String> options, StructType schema) {
    try {
      new HBaseWriteBuilder(schema, new HBaseOptions(options)).build();
      return null;
    } catch (IllegalArgumentException e) {
      return e.getMessage();
    }
  }
}
