package io.milepost.hbase.rollback;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/**
 * What a roll back of rows is told; a value, from the option `roll-back`.
 *
 * @param id under which the driver gathers what was found
 * @param generation the generation of the cells that bring old values back; nothing else is written in it
 * @param apply false for a look that writes nothing
 * @param limit the version from which on a cell is newer than the boundary, the same for all rows; null where it depends on
 *     the record's partition
 * @param limits the same by topic and partition
 * @param families what each family that is written keeps
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
      throw new IllegalArgumentException("This is no plan of a roll back: " + text, e);
    }
  }

  /** The version of markers that take away what was not there at the boundary. */
  long markerVersion() {
    return generation << GENERATION_SHIFT;
  }

  /** The version of puts that bring back what was there; above the markers, so that none of them hides one. */
  long putVersion() {
    return markerVersion() + 1;
  }

  boolean isOurs(long version) {
    return version >>> GENERATION_SHIFT == generation;
  }

  /** Null for a record of a partition that the boundary does not know. */
  Long limitOf(String topic, int partition) {
    return limits.getOrDefault(topic, Map.of()).get(partition);
  }
}
