package io.milepost.record;

import java.util.HashMap;
import java.util.Map;

/** The user's Kafka client properties, out of a data source's options. */
public final class ClientProperties {
  private static final String PREFIX = "kafka.";

  private ClientProperties() {}

  /** Returns the options that start with `kafka.`, without that prefix. */
  public static Map<String, Object> of(Map<String, String> options) {
    Map<String, Object> properties = new HashMap<>();
    options.forEach((key, value) -> {
      if (key.startsWith(PREFIX)) {
        properties.put(key.substring(PREFIX.length()), value);
      }
    });
    return properties;
  }
}
