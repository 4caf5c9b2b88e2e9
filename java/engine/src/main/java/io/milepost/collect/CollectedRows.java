package io.milepost.collect;

import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** The rows of one epoch on the driver, from the acknowledgements until they are taken in step 6. */
public final class CollectedRows {
  private static final ConcurrentMap<String, CollectedRows> OF_JOBS = new ConcurrentHashMap<>();

  private final long epoch;
  private final long rows;
  private final List<byte[]> pages;

  CollectedRows(long epoch, List<CollectAck> acks) {
    this.epoch = epoch;
    this.rows = acks.stream().mapToLong(CollectAck::rows).sum();
    this.pages = acks.stream().flatMap(ack -> ack.pages().stream()).toList();
  }

  static void put(String job, CollectedRows rows) {
    OF_JOBS.put(job, rows);
  }

  /** Called from Python, once per epoch; removes the rows. */
  public static CollectedRows take(String job, long epoch) {
    CollectedRows rows = OF_JOBS.remove(job);
    if (rows == null || rows.epoch != epoch) {
      throw new IllegalStateException("The rows of checkpoint " + epoch + " of job '" + job + "' are not here");
    }
    return rows;
  }

  /** How many rows there were, including those beyond the limit. */
  public long rows() {
    return rows;
  }

  public int pages() {
    return pages.size();
  }

  /** A pickled list of rows; pages and rows are in the order of partitions and of rows in them. */
  public byte[] page(int number) {
    return pages.get(number);
  }
}
