package io.milepost.record;

import java.util.Map;

/** Policy `skip`: the record is counted, and the stream continues. */
final class SkipBadRecords implements BadRecords {
  private final Tally tally = new Tally();

  @Override
  public void reject(Origin origin, Reason reason, String detail) {
    if (origin == null) {
      throw new RejectedRecordException(null, reason, detail);
    }
    tally.add(reason);
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
