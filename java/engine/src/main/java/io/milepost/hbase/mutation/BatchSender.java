package io.milepost.hbase.mutation;

import java.io.IOException;
import java.util.List;

/** Sends one batch and waits for its answers; the seam at which tests stand in for HBase. */
@FunctionalInterface
public interface BatchSender {
  /** The changes are in order of their rows. Fills `results` by position: an error or null there means that the change may not have happened. */
  void send(List<RowChange> changes, Object[] results) throws IOException, InterruptedException;

  /**
   * How many batches may be on their way at once: one, unless any order of their arrival gives the same table, as it does
   * where each record has a version of its own.
   */
  default int atOnce() {
    return 1;
  }

  /** How many changes HBase was right not to take so far, since their rows had newer ones. */
  default long superseded() {
    return 0;
  }

  /** How many changes went straight to their region servers. */
  default long direct() {
    return 0;
  }
}
