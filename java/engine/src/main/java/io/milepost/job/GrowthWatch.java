package io.milepost.job;

/** A source that watches how many partitions its topics have. */
public interface GrowthWatch {
  /**
   * Called when a batch is about to be sealed (step 6): throws where a topic has grown before the last record of the batch was
   * in the log. The batch is then run again, with versions that bear it.
   */
  void requireNotGrown();
}
