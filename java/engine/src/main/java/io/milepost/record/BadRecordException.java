package io.milepost.record;

/** One record cannot be applied; the policy decides how to handle it. */
public final class BadRecordException extends Exception {
  private final Reason reason;

  public BadRecordException(Reason reason, String detail) {
    // No stack trace: it is data that is wrong, not code, and a stream may hold many of them.
    super(detail, null, false, false);
    this.reason = reason;
  }

  public Reason reason() {
    return reason;
  }
}
