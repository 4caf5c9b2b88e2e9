package io.milepost.kafka.topic;

/** A topic of the source is not the one the job began with, so nothing of it may be read. */
public final class TopicChangedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public TopicChangedException(String fault) {
    super("MILEPOST_TOPIC_RECREATED " + fault);
  }
}
