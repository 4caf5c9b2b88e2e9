package io.milepost.hbase.mutation;

import java.io.IOException;
import java.util.List;

/** Sends one batch and waits for its answers; tests replace HBase here. */
@FunctionalInterface
public interface BatchSender {
  /**
   * Sends changes that are sorted by row. Fills `results` by position: an error or null means that the change may not
   * have been applied.
   */
  void send(List<RowChange> changes, Object[] results) throws IOException, InterruptedException;

  /**
   * How many batches may be in flight at once: one, unless the table ends up the same whatever the order of arrival,
   * as it does where each record has its own version.
   */
  default int atOnce() {
    return 1;
  }

  /** How many changes HBase has rejected so far because their rows had newer ones. */
  default long superseded() {
    return 0;
  }

  /** How many changes were sent directly to their region servers. */
  default long direct() {
    return 0;
  }
}
