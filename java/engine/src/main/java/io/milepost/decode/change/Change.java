package io.milepost.decode.change;

/** What a record of a change log does to one row: the row's columns, and whether they are its end. */
public record Change(Object[] values, boolean isDelete) {
  static Change upsert(Object[] values) {
    return new Change(values, false);
  }

  static Change delete(Object[] values) {
    return new Change(values, true);
  }
}
