package io.milepost.record;

import java.util.EnumMap;
import java.util.Map;
import org.apache.spark.util.AccumulatorV2;

/**
 * Counts the records that the source rejected, by reason.
 *
 * <p>Spark adds a task's counts on the driver when the task has succeeded and before the batch is sealed, so step 6
 * sees them all; what a failed attempt counted is dropped with the attempt.
 */
public final class RejectedRecords extends AccumulatorV2<Map<Reason, Long>, Map<Reason, Long>> {
  private final EnumMap<Reason, Long> counts = new EnumMap<>(Reason.class);

  @Override
  public synchronized boolean isZero() {
    return counts.isEmpty();
  }

  @Override
  public synchronized RejectedRecords copy() {
    RejectedRecords copy = new RejectedRecords();
    copy.counts.putAll(counts);
    return copy;
  }

  @Override
  public synchronized void reset() {
    counts.clear();
  }

  @Override
  public synchronized void add(Map<Reason, Long> more) {
    more.forEach((reason, count) -> counts.merge(reason, count, Long::sum));
  }

  @Override
  public void merge(AccumulatorV2<Map<Reason, Long>, Map<Reason, Long>> other) {
    add(other.value());
  }

  @Override
  public synchronized Map<Reason, Long> value() {
    return new EnumMap<>(counts);
  }
}
