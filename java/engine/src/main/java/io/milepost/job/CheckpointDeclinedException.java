package io.milepost.job;

/** The coordinator declined this checkpoint: its batch fails, and the job restarts from the previous one. */
public final class CheckpointDeclinedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CheckpointDeclinedException(long checkpointId, String why) {
    super("MILEPOST_DECLINED Checkpoint " + checkpointId + ": " + why);
  }
}
