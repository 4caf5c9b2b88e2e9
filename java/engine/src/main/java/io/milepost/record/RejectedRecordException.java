package io.milepost.record;

/** The policy is `fail` and a record cannot be applied: the job must stop before its offset is committed. */
public final class RejectedRecordException extends RuntimeException {
  /** Python finds the sentence behind this marker in Spark's error text. */
  public static final String MARKER = "MILEPOST_BAD_RECORD ";

  public RejectedRecordException(Origin origin, Reason reason, String detail) {
    super(MARKER + reason + " at " + (origin == null ? "a row without a Kafka record" : origin) + ": " + detail);
  }
}
