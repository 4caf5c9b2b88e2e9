package io.milepost.watermark;

import org.apache.spark.sql.api.java.UDF3;

/** The SQL function through which every record of a source goes on its way: always true. A task has one of its own. */
final class ObserveFunction implements UDF3<String, Integer, Long, Boolean> {
  private static final long serialVersionUID = 1L;

  private final PartitionTimes times;
  // Records come partition by partition, mostly in order: what was said already need not be said again.
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
