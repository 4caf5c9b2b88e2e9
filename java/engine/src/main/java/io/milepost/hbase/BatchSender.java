package io.milepost.hbase;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.hbase.client.Row;

/** Sends one batch and waits for its answers; the seam at which tests stand in for HBase. */
@FunctionalInterface
interface BatchSender {
  /** Fills `results` by position: an error or null there means that the action may not have happened. */
  void send(List<Row> actions, Object[] results) throws IOException, InterruptedException;
}
