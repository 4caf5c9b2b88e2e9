package io.milepost.watermark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.api.java.UDF4;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The SQL function that every row passes through before an operator that drops late rows: always true.
 *
 * <p>A record counts when the operator drops every row of it. The rows of a record are adjacent: a record in several
 * windows is late when the newest of them is closed. Each task has its own function.
 */
public final class LateRecordFunction implements UDF4<String, Integer, Long, Long, Boolean> {
  private static final long serialVersionUID = 1L;
  private static final long NOT_KNOWN = Long.MIN_VALUE;

  private final LateRecords late;
  private final int operator;
  private transient Map<String, Long> counts;
  private transient long watermarkMicros;
  private transient String topic;
  private transient int partition;
  private transient long offset;
  private transient boolean isLate;

  /** `operator` distinguishes the operators of a query. */
  public LateRecordFunction(LateRecords late, int operator) {
    this.late = late;
    this.operator = operator;
  }

  @Override
  public Boolean call(String recordTopic, Integer recordPartition, Long recordOffset, Long micros) {
    if (counts == null) {
      begin(TaskContext.get());
    }
    boolean isRowLate = micros != null && micros <= watermarkMicros;
    if (topic != null && recordOffset == offset && recordPartition == partition && recordTopic.equals(topic)) {
      isLate &= isRowLate;
      return true;
    }
    count();
    topic = recordTopic;
    partition = recordPartition;
    offset = recordOffset;
    isLate = isRowLate;
    return true;
  }

  private void begin(TaskContext task) {
    counts = new HashMap<>();
    watermarkMicros = NOT_KNOWN;
    String millis = task == null ? null : task.getLocalProperty(LateWatermark.PROPERTY);
    if (millis != null) {
      watermarkMicros = Math.multiplyExact(Long.parseLong(millis), 1000L);
      // A task's result is sent after its listeners have run.
      task.addTaskCompletionListener((TaskCompletionListener) this::end);
    }
  }

  private void end(TaskContext task) {
    count();
    if (!counts.isEmpty() && !task.isFailed() && !task.isInterrupted()) {
      long epoch = Long.parseLong(task.getLocalProperty(LateWatermark.BATCH));
      late.add(new LateRecords.Counted(epoch, operator, task.partitionId(), counts));
    }
  }

  private void count() {
    if (isLate) {
      counts.merge(topic, 1L, Long::sum);
      isLate = false;
    }
  }
}
