package io.milepost.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;

/** The distance between two offsets as Spark's Kafka source writes them: `{"topic": {"0": 42}}`. */
final class OffsetSpan {
  private static final ObjectMapper JSON = new ObjectMapper();

  private OffsetSpan() {}

  /**
   * The number of offsets between the two, which is at least the number of records: compaction and transactions leave
   * gaps.
   */
  static long records(String from, String to) {
    try {
      JsonNode start = JSON.readTree(from);
      long records = 0;
      for (Map.Entry<String, JsonNode> topic : JSON.readTree(to).properties()) {
        for (Map.Entry<String, JsonNode> partition : topic.getValue().properties()) {
          // A partition that is new in this batch is read from its beginning, wherever that is.
          JsonNode begin = start.path(topic.getKey()).path(partition.getKey());
          records += Math.max(partition.getValue().asLong() - begin.asLong(), 0);
        }
      }
      return records;
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("Not offsets: " + from + " and " + to, e);
    }
  }
}
