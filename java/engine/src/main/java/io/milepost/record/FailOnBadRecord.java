package io.milepost.record;

import java.util.Map;

/** Policy `fail`: the first bad record stops the job. */
final class FailOnBadRecord implements BadRecords {
  private final Tally tally = new Tally();

  @Override
  public void reject(Origin origin, Reason reason, String detail) {
    throw new RejectedRecordException(origin, reason, detail);
  }

  @Override
  public void reject(Origin origin, Reason reason, String detail, byte[] key, byte[] value) {
    reject(origin, reason, detail);
  }

  @Override
  public void passOver() {
    tally.add(Reason.NO_CHANGE);
  }

  @Override
  public Map<Reason, Long> counts() {
    return tally.counts();
  }

  @Override
  public void flush() {}

  @Override
  public void close() {}
}
