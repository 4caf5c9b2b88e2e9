package io.milepost.job;

/** Looks whether the topics of a source are still those the job began with. Both answers come at once. */
public interface TopicWatch {
  /** The sentence that says which topic is not the one it was, or null; by the answers that are in. */
  String fault();

  /** The ids as a JSON object, with those of topics that came since the start. */
  String known();
}
