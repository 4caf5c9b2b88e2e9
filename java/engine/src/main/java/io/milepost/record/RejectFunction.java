package io.milepost.record;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF6;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The SQL function that rejects the failures of a Python deserializer: always false, so that the row is filtered out
 * after the policy has handled it.
 */
public final class RejectFunction implements UDF6<String, String, Integer, Long, byte[], byte[], Boolean> {
  private final HashMap<String, String> options;
  private final RejectedRecords counts;
  private transient BadRecords badRecords;

  private RejectFunction(Map<String, String> options, RejectedRecords counts) {
    this.options = new HashMap<>(options);
    this.counts = counts;
  }

  /** Called from Python: registers the function in the session under `name`. */
  public static void register(SparkSession spark, String name, Map<String, String> options, RejectedRecords counts) {
    // Not deterministic: Spark must neither drop nor repeat a call.
    spark.udf().register(name, functions.udf(new RejectFunction(options, counts), DataTypes.BooleanType)
        .asNondeterministic());
  }

  @Override
  public Boolean call(String failure, String topic, Integer partition, Long offset, byte[] key, byte[] value) {
    if (badRecords == null) {
      badRecords = TaskBadRecords.open(options, counts);
    }
    badRecords.reject(new Origin(topic, partition, offset), Reason.DESERIALIZER_FAILED, failure, key, value);
    return false;
  }
}
