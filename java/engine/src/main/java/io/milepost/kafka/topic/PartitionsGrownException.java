package io.milepost.kafka.topic;

/**
 * A topic got more partitions while a batch was read that was planned without them. Python recognizes it by its first
 * word.
 */
final class PartitionsGrownException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  PartitionsGrownException(String fault) {
    super("MILEPOST_PARTITIONS_GROWN " + fault);
  }
}
