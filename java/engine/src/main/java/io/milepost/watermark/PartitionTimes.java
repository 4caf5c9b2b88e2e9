package io.milepost.watermark;

import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.spark.util.AccumulatorV2;

/**
 * The newest event time of each partition that a source has read, in milliseconds; tasks add to it.
 *
 * <p>A repeated task changes nothing.
 */
public final class PartitionTimes extends AccumulatorV2<Map<String, Long>, Map<String, Long>> {
  private static final long serialVersionUID = 1L;

  private final HashMap<String, Long> newest = new HashMap<>();

  /** Called in a task, for a record that has an event time. */
  synchronized void observe(String topic, int partition, long millis) {
    newest.merge(topic + "-" + partition, millis, Math::max);
  }

  /**
   * Returns the newest event time of the slowest partition; empty as long as an expected partition has none, since it
   * is unknown how far behind it is.
   */
  synchronized OptionalLong slowest(Set<String> expected) {
    if (!newest.keySet().containsAll(expected)) {
      return OptionalLong.empty();
    }
    return newest.values().stream().mapToLong(Long::longValue).min();
  }

  @Override
  public synchronized boolean isZero() {
    return newest.isEmpty();
  }

  @Override
  public synchronized PartitionTimes copy() {
    PartitionTimes copy = new PartitionTimes();
    copy.newest.putAll(newest);
    return copy;
  }

  @Override
  public synchronized void reset() {
    newest.clear();
  }

  @Override
  public synchronized void add(Map<String, Long> more) {
    more.forEach((partition, millis) -> newest.merge(partition, millis, Math::max));
  }

  @Override
  public void merge(AccumulatorV2<Map<String, Long>, Map<String, Long>> other) {
    add(other.value());
  }

  @Override
  public synchronized Map<String, Long> value() {
    return new HashMap<>(newest);
  }
}
