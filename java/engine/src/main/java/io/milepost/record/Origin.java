package io.milepost.record;

import java.io.Serializable;

/** Where a record stands in Kafka: its identity for ever. */
public record Origin(String topic, int partition, long offset) implements Serializable {
  @Override
  public String toString() {
    return topic + "-" + partition + "@" + offset;
  }
}
