package io.milepost.decode.change;

/** What a change-log record does to one row: the columns of the row, and whether the row is deleted. */
public record Change(Object[] values, boolean isDelete) {
  static Change upsert(Object[] values) {
    return new Change(values, false);
  }

  static Change delete(Object[] values) {
    return new Change(values, true);
  }
}
