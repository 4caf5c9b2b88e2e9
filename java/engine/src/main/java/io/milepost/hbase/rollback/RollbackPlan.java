package io.milepost.hbase.rollback;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/**
 * The plan of a rollback, from the option `roll-back`.
 *
 * @param id the key under which the driver collects the reports
 * @param generation the generation of the cells that restore old values; nothing else is written in it
 * @param apply false for a dry run
 * @param limit the lowest version that is newer than the boundary, the same for all rows; null where it depends on
 *     the partition of the record
 * @param limits the same by topic and partition
 * @param families what each written family keeps
 */
record RollbackPlan(String id, long generation, boolean apply, Long limit, Map<String, Map<Integer, Long>> limits,
    Map<String, Family> families) implements Serializable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int GENERATION_SHIFT = 48;

  /** How many versions of a cell HBase keeps, and whether it keeps what is deleted. */
  record Family(int versions, boolean keepsDeleted) implements Serializable {}

  static RollbackPlan parse(String text) {
    try {
      JsonNode json = JSON.readTree(text);
      Map<String, Map<Integer, Long>> limits = new HashMap<>();
      json.path("limits").properties().forEach(topic -> {
        Map<Integer, Long> ofTopic = limits.computeIfAbsent(topic.getKey(), key -> new HashMap<>());
        topic.getValue().properties()
            .forEach(each -> ofTopic.put(Integer.valueOf(each.getKey()), each.getValue().asLong()));
      });
      Map<String, Family> families = new HashMap<>();
      json.path("families").properties().forEach(each -> families.put(each.getKey(), new Family(
          each.getValue().path("versions").asInt(), each.getValue().path("keeps-deleted").asBoolean())));
      Long limit = json.hasNonNull("limit") ? json.get("limit").asLong() : null;
      return new RollbackPlan(json.path("id").asText(), json.path("generation").asLong(), json.path("apply").asBoolean(),
          limit, limits, families);
    } catch (JsonProcessingException | NumberFormatException e) {
      throw new IllegalArgumentException("Not a rollback plan: " + text, e);
    }
  }

  /** The version of markers that remove what did not exist at the boundary. */
  long markerVersion() {
    return generation << GENERATION_SHIFT;
  }

  /** The version of puts that restore what existed; above the markers, so that no marker hides one. */
  long putVersion() {
    return markerVersion() + 1;
  }

  boolean isOurs(long version) {
    return version >>> GENERATION_SHIFT == generation;
  }

  /** Null for a record of a partition that is not part of the boundary. */
  Long limitOf(String topic, int partition) {
    return limits.getOrDefault(topic, Map.of()).get(partition);
  }
}
