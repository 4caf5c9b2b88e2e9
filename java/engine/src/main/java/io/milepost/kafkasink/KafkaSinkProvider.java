package io.milepost.kafkasink;

import io.milepost.sink.StreamingProvider;

/** `format("milepost-kafka-sink")`: takes rows of (topic STRING, key BINARY, value BINARY). */
public final class KafkaSinkProvider extends StreamingProvider {
  public KafkaSinkProvider() {
    super("milepost-kafka-sink", (rows, options) -> new KafkaStreamingWrite(new KafkaSinkOptions(options)));
  }
}
