package io.milepost.kafka.group;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * The metadata of an offset in a consumer group: the topic that the offset belongs to, by its id.
 *
 * <p>Kafka keeps group offsets by topic name, and a topic of the same name may be another one by now. Metadata of other
 * tools says nothing. Neither does ours from another cluster: mirroring tools copy it along with the offset.
 */
public final class OffsetOwner {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** librdkafka gives metadata to C and Python without an end: they read on into whatever follows in memory. */
  private static final char END = 0;

  private OffsetOwner() {}

  /** The metadata of an offset in this topic of this cluster. */
  static String metadata(String clusterId, String topicId) {
    ObjectNode document = JSON.createObjectNode();
    document.putObject("milepost").put("cluster-id", clusterId).put("topic-id", topicId);
    return document.toString() + END;
  }

  /** The id of the topic that an offset with this metadata belongs to, or null where the metadata does not say. */
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
