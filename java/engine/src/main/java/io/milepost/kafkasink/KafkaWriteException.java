package io.milepost.kafkasink;

import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.InvalidTxnTimeoutException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/** Rows could not be written to Kafka; the message follows a marker that Python looks for. */
final class KafkaWriteException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private KafkaWriteException(String message, Throwable cause) {
    super(message, cause);
  }

  static KafkaWriteException of(String what, Throwable cause) {
    return new KafkaWriteException("MILEPOST_KAFKA_" + (isFatal(cause) ? "FATAL " : "RETRY ") + what + ": " + why(cause), cause);
  }

  static KafkaWriteException fatal(String sentence) {
    return new KafkaWriteException("MILEPOST_KAFKA_FATAL " + sentence, null);
  }

  /** True where trying again would meet the same thing. */
  private static boolean isFatal(Throwable cause) {
    return cause instanceof AuthorizationException || cause instanceof InvalidTxnTimeoutException
        || cause instanceof RecordTooLargeException || cause instanceof UnsupportedVersionException;
  }

  private static String why(Throwable cause) {
    if (cause instanceof ProducerFencedException || cause instanceof InvalidProducerEpochException) {
      return "another producer has begun a transaction of the same id, or the broker has aborted this one after its"
          + " transaction-timeout (" + cause.getMessage() + ")";
    }
    return cause.getClass().getSimpleName() + ": " + cause.getMessage();
  }
}
