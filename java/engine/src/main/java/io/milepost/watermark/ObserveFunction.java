package io.milepost.watermark;

import org.apache.spark.sql.api.java.UDF3;

/** The SQL function that every record of a source passes through: always true. Each task has its own. */
final class ObserveFunction implements UDF3<String, Integer, Long, Boolean> {
  private static final long serialVersionUID = 1L;

  private final PartitionTimes times;
  // Records arrive partition by partition, mostly in order: a time that was reported need not be reported again.
  private transient String topic;
  private transient int partition;
  private transient long newest;

  ObserveFunction(PartitionTimes times) {
    this.times = times;
  }

  @Override
  public Boolean call(String recordTopic, Integer recordPartition, Long millis) {
    if (millis == null) {
      return true;
    }
    if (recordPartition != partition || !recordTopic.equals(topic)) {
      topic = recordTopic;
      partition = recordPartition;
      newest = Long.MIN_VALUE;
    }
    if (millis > newest) {
      newest = millis;
      times.observe(topic, partition, millis);
    }
    return true;
  }
}
