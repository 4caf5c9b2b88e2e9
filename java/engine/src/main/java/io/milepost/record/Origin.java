package io.milepost.record;

import java.io.Serializable;

/** The position of a record in Kafka, which identifies it permanently. */
public record Origin(String topic, int partition, long offset) implements Serializable {
  @Override
  public String toString() {
    return topic + "-" + partition + "@" + offset;
  }
}
