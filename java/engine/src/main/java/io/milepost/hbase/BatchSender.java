package io.milepost.hbase;

import java.io.IOException;
import java.util.List;

/** Sends one batch and waits for its answers; the seam at which tests stand in for HBase. */
@FunctionalInterface
interface BatchSender {
  /** The changes are in order of their rows. Fills `results` by position: an error or null there means that the change may not have happened. */
  void send(List<RowChange> changes, Object[] results) throws IOException, InterruptedException;

  /** How many changes HBase was right not to take so far, since their rows had newer ones. */
  default long superseded() {
    return 0;
  }

  /** How many changes went straight to their region servers. */
  default long direct() {
    return 0;
  }
}
