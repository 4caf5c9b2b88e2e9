package io.milepost.kafka;

import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * The same position again, distinguished by a trailing space in its text.
 *
 * <p>Spark runs a batch only when the text of an offset has changed. A checkpoint that is requested while there are
 * no new records must be a batch too. The space makes it one, and every reader of the offset log, including plain
 * Spark, ignores it.
 */
final class RepeatedOffset extends Offset {
  private static final String MARK = " ";

  private final Offset position;

  private RepeatedOffset(Offset position) {
    this.position = position;
  }

  /** Returns an offset that differs from `start` and has the same position. */
  static Offset after(Offset start) {
    return start instanceof RepeatedOffset repeated ? repeated.position : new RepeatedOffset(start);
  }

  /** Returns the position itself. */
  static Offset strip(Offset offset) {
    return offset instanceof RepeatedOffset repeated ? repeated.position : offset;
  }

  /** Returns the offset that a text of the log represents, given its position. */
  static Offset read(String json, Offset position) {
    return json.endsWith(MARK) ? new RepeatedOffset(position) : position;
  }

  @Override
  public String json() {
    return position.json() + MARK;
  }
}
