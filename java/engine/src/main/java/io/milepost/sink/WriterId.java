package io.milepost.sink;

import java.io.Serializable;
import org.apache.spark.TaskContext;

/** The attempt, task and epoch that a writer serves. */
public record WriterId(int partition, int attempt, long task, long epoch) implements Serializable {
  /** The epoch of a batch write, which belongs to no checkpoint. */
  public static final long NO_EPOCH = -1;

  /** The writer of the task that runs on this thread. */
  public static WriterId here(int partition, long task, long epoch) {
    TaskContext context = TaskContext.get();
    return new WriterId(partition, context == null ? 0 : context.attemptNumber(), task, epoch);
  }
}
