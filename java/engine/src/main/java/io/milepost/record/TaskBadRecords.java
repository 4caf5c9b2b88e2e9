package io.milepost.record;

import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/** Ties the bad records of a task to its end: a task succeeds only when its dead letters are on the broker. */
public final class TaskBadRecords {
  private TaskBadRecords() {}

  /** `counts` receives what this task rejected if the task succeeds; null where nothing is counted. */
  public static BadRecords open(Map<String, String> options, RejectedRecords counts) {
    BadRecords badRecords = BadRecords.of(options);
    TaskContext task = TaskContext.get();
    if (task != null) {
      // A task's result is sent after its listeners have run, so a dead letter that is lost fails the task.
      task.addTaskCompletionListener((TaskCompletionListener) context -> finish(badRecords, counts, context));
    }
    return badRecords;
  }

  private static void finish(BadRecords badRecords, RejectedRecords counts, TaskContext context) {
    try (badRecords) {
      if (!context.isFailed() && !context.isInterrupted()) {
        badRecords.flush();
        if (counts != null) {
          counts.add(badRecords.counts());
        }
      }
    }
  }
}
