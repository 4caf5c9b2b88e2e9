package io.milepost.watermark;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.util.AccumulatorV2;

/**
 * The records of the running batch that an operator drops because they are late, by topic; tasks add to it.
 *
 * <p>Per epoch, operator and partition the first task counts: a stage that Spark runs again after losing an executor
 * adds nothing. A new epoch discards the counts of the previous one.
 *
 * <p>Register it without a name: otherwise Spark keeps the value of each task for its own pages.
 */
public final class LateRecords extends AccumulatorV2<LateRecords.Counted, Map<String, Long>> {
  private static final long serialVersionUID = 1L;
  private static final long NONE = -1;

  /** What one task has seen in front of one operator. */
  public record Counted(long epoch, int operator, int partition, Map<String, Long> byTopic) implements Serializable {
    String place() {
      return operator + "/" + partition;
    }
  }

  private final TreeMap<String, Counted> tasks = new TreeMap<>();
  private long epoch = NONE;

  /** The late records of one epoch by topic; empty where it has none. */
  public synchronized Map<String, Long> of(long wanted) {
    return wanted == epoch ? value() : Map.of();
  }

  @Override
  public synchronized boolean isZero() {
    return tasks.isEmpty();
  }

  @Override
  public synchronized LateRecords copy() {
    LateRecords copy = new LateRecords();
    copy.epoch = epoch;
    copy.tasks.putAll(tasks);
    return copy;
  }

  @Override
  public synchronized void reset() {
    tasks.clear();
  }

  @Override
  public synchronized void add(Counted task) {
    if (task.epoch < epoch) {
      return; // a task that was given up, of a batch that was done without it
    }
    if (task.epoch > epoch) {
      epoch = task.epoch;
      tasks.clear();
    }
    tasks.putIfAbsent(task.place(), task);
  }

  @Override
  public void merge(AccumulatorV2<Counted, Map<String, Long>> other) {
    ((LateRecords) other).copy().tasks.values().forEach(this::add);
  }

  @Override
  public synchronized Map<String, Long> value() {
    Map<String, Long> sum = new HashMap<>();
    tasks.values().forEach(task -> task.byTopic.forEach((topic, count) -> sum.merge(topic, count, Long::sum)));
    return sum;
  }
}
