package io.milepost.kafka;

import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * The same position once more, told apart by a blank at the end of its text.
 *
 * <p>Spark runs a batch only when the text of an offset has changed. A checkpoint that somebody asked for while nothing is
 * new must be a batch too; the blank makes it one, and every reader of the offset log, plain Spark included, skips it.
 */
final class RepeatedOffset extends Offset {
  private static final String MARK = " ";

  private final Offset position;

  private RepeatedOffset(Offset position) {
    this.position = position;
  }

  /** Returns another offset than `start` for the same position. */
  static Offset after(Offset start) {
    return start instanceof RepeatedOffset repeated ? repeated.position : new RepeatedOffset(start);
  }

  /** Returns the position itself. */
  static Offset strip(Offset offset) {
    return offset instanceof RepeatedOffset repeated ? repeated.position : offset;
  }

  /** Returns the offset that a text of the log stands for, given its position. */
  static Offset read(String json, Offset position) {
    return json.endsWith(MARK) ? new RepeatedOffset(position) : position;
  }

  @Override
  public String json() {
    return position.json() + MARK;
  }
}
