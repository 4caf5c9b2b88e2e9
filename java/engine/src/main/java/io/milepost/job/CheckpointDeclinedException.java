package io.milepost.job;

/** The coordinator does not seal this checkpoint: its batch fails, and the job starts again from the one before. */
public final class CheckpointDeclinedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CheckpointDeclinedException(long checkpointId, String why) {
    super("MILEPOST_DECLINED Checkpoint " + checkpointId + ": " + why);
  }
}
