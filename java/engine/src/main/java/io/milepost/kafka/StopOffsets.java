package io.milepost.kafka;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** Where a bounded stream ends, per partition; an unnamed partition has no end to wait for. */
final class StopOffsets {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TypeReference<TreeMap<String, TreeMap<String, Long>>> OFFSETS = new TypeReference<>() {};

  private final Map<String, TreeMap<String, Long>> ends;

  private StopOffsets(Map<String, TreeMap<String, Long>> ends) {
    this.ends = ends;
  }

  static StopOffsets of(String json) {
    return new StopOffsets(json == null ? null : parse(json));
  }

  /** True when the stream is bounded and every end has been reached. */
  boolean reachedBy(String offsets) {
    if (ends == null) {
      return false;
    }
    Map<String, TreeMap<String, Long>> position = parse(offsets);
    return ends.entrySet().stream().allMatch(topic -> topic.getValue().entrySet().stream().allMatch(end ->
        position.getOrDefault(topic.getKey(), new TreeMap<>()).getOrDefault(end.getKey(), 0L) >= end.getValue()));
  }

  /** Limits an offset to the ends; partitions found after the ends were determined are not read at all. */
  Offset limit(Offset offset, MicroBatchStream stream) {
    return ends == null ? offset : stream.deserializeOffset(limited(offset.json()));
  }

  String limited(String offsets) {
    Map<String, TreeMap<String, Long>> limited = parse(offsets);
    limited.forEach((topic, partitions) -> partitions.replaceAll((partition, position) ->
        Math.min(position, ends.getOrDefault(topic, new TreeMap<>()).getOrDefault(partition, 0L))));
    return render(limited);
  }

  private static Map<String, TreeMap<String, Long>> parse(String json) {
    try {
      return JSON.readValue(json, OFFSETS);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("Not Kafka offsets: " + json, e);
    }
  }

  private static String render(Map<String, TreeMap<String, Long>> offsets) {
    try {
      return JSON.writeValueAsString(offsets);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }
}
