package io.milepost.hbase.write;

import io.milepost.hbase.mapping.KafkaColumn;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** The first and the last offset of each topic partition that a task has read. Not thread safe. */
final class OffsetRanges {
  private final Map<UTF8String, Map<Integer, long[]>> ranges = new HashMap<>();

  // Successive rows usually come from the same partition, so the last one is kept.
  private UTF8String topic;
  private int partition = -1;
  private long[] range;

  void add(InternalRow kafka) {
    long offset = KafkaColumn.offset(kafka);
    if (KafkaColumn.partition(kafka) != partition || !KafkaColumn.topic(kafka).equals(topic)) {
      partition = KafkaColumn.partition(kafka);
      topic = KafkaColumn.topic(kafka).copy(); // the memory of the row is reused for the next row
      range = ranges.computeIfAbsent(topic, name -> new HashMap<>())
          .computeIfAbsent(partition, number -> new long[] {offset, offset});
    }
    range[0] = Math.min(range[0], offset);
    range[1] = Math.max(range[1], offset);
  }

  /** By topic and partition: first and last offset seen, both inclusive. */
  TreeMap<String, TreeMap<Integer, long[]>> byPartition() {
    TreeMap<String, TreeMap<Integer, long[]>> result = new TreeMap<>();
    ranges.forEach((name, partitions) -> result.put(name.toString(), new TreeMap<>(partitions)));
    return result;
  }
}
