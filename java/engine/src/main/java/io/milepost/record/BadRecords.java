package io.milepost.record;

import java.util.Map;

/**
 * How the bad records of one task are handled. Not thread safe.
 *
 * <p>Nothing is dropped without being counted; counts start at zero with the task, so a retried task counts from
 * scratch.
 */
public interface BadRecords extends AutoCloseable {
  /** Called by the sink, which no longer has the original bytes; `origin` is null where the row has no single record. */
  void reject(Origin origin, Reason reason, String detail);

  /** Called by the source, with the original bytes at hand. */
  void reject(Origin origin, Reason reason, String detail, byte[] key, byte[] value);

  /** Called by the source for a record that is not bad and changes no row: counted, whatever the policy. */
  void passOver();

  Map<Reason, Long> counts();

  /** When this returns, every dead letter is on the broker; throws otherwise. */
  void flush();

  @Override
  void close();

  static BadRecords of(Map<String, String> options) {
    String policy = options.getOrDefault("bad-records", "fail");
    return switch (policy) {
      case "fail" -> new FailOnBadRecord();
      case "skip" -> new SkipBadRecords();
      case "dead-letter" -> new DeadLetters(options);
      default -> throw new IllegalArgumentException(
          "bad-records is '" + policy + "'; it takes fail, skip or dead-letter");
    };
  }
}
