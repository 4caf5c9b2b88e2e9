package io.milepost.kafka.group;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * The metadata of an offset in a consumer group: the id of the topic that the offset belongs to.
 *
 * <p>Kafka keys group offsets by topic name, and a topic of the same name may be another one by now. Metadata of
 * other tools is ignored. So is ours from another cluster: mirroring tools copy it along with the offset.
 */
public final class OffsetOwner {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** librdkafka passes metadata to C and Python without a terminator: they would read beyond its end in memory. */
  private static final char END = 0;

  private OffsetOwner() {}

  /** The metadata of an offset in this topic of this cluster. */
  static String metadata(String clusterId, String topicId) {
    ObjectNode document = JSON.createObjectNode();
    document.putObject("milepost").put("cluster-id", clusterId).put("topic-id", topicId);
    return document.toString() + END;
  }

  /** The id of the topic that an offset with this metadata belongs to; null where the metadata does not name it. */
  public static String topicId(String metadata, String clusterId) {
    if (metadata == null || metadata.isBlank()) {
      return null;
    }
    try {
      JsonNode owner = JSON.readTree(metadata).path("milepost");
      boolean isOfCluster = owner.path("cluster-id").asText("").equals(clusterId == null ? "" : clusterId);
      return isOfCluster && owner.path("topic-id").isTextual() ? owner.get("topic-id").textValue() : null;
    } catch (JsonProcessingException e) {
      return null;
    }
  }
}
