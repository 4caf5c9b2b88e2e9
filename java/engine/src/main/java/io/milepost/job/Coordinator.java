package io.milepost.job;

/** The coordinator, as the engine calls it on the thread of the query. */
public interface Coordinator {
  /**
   * Step 6: every writer has acknowledged. The report is JSON; the answer is empty when the checkpoint is sealed, else the
   * sentence that says why it is declined.
   */
  String seal(long checkpointId, String report);

  /**
   * Before step 4, where a topic has grown: makes the eras of versions durable. The answer is empty, or the sentence that
   * says why it cannot be done.
   */
  String keepVersions(String eras);

  /** Step 8: the engine is back at the gate, so the batch is in Spark's commit log. Returns at once. */
  void committed(long checkpointId);
}
