package io.milepost.job;

/** Watches the number of partitions of a source's topics. */
public interface GrowthWatch {
  /**
   * Called when a batch is about to be sealed (step 6): throws if a topic grew before the last record of the batch
   * was in the log. The batch then runs again, with versions that allow for the growth.
   */
  void requireNotGrown();
}
