package io.milepost.version;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;

/** The eras of a job's topics, which make the version of a record from its partition, offset and time. A value. */
public final class Eras {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** What the broker reports about a topic. */
  public record Topic(String id, int partitions) {}

  /** What is known at a boundary: when the broker was asked, and when the topics had for sure not grown yet. */
  public record Look(long since, long now, long transition) {}

  private final Map<String, TopicEras> topics;

  private Eras(Map<String, TopicEras> topics) {
    this.topics = topics;
  }

  /** Parses a JSON object with the eras of each topic, as in `milepost/versions.json`. */
  public static Eras parse(String text) {
    try {
      Map<String, TopicEras> topics = new TreeMap<>();
      for (Map.Entry<String, JsonNode> each : JSON.readTree(text).properties()) {
        topics.put(each.getKey(), TopicEras.parse(each.getValue()));
      }
      return new Eras(topics);
    } catch (JsonProcessingException | IndexOutOfBoundsException e) {
      throw new IllegalArgumentException("Not eras of versions: " + text, e);
    }
  }

  public String toJson() {
    ObjectNode json = JSON.createObjectNode();
    topics.forEach((name, eras) -> eras.write(json.putObject(name)));
    return json.toString();
  }

  /** The eras of one topic; null where it was never seen. */
  public TopicEras of(String topic) {
    return topics.get(topic);
  }

  /** The message about a topic that has more partitions than its eras know, or null. */
  public String growth(Map<String, Topic> seen) {
    for (Map.Entry<String, Topic> each : seen.entrySet()) {
      TopicEras known = topics.get(each.getKey());
      if (known != null && known.partitions() < each.getValue().partitions()) {
        return "topic " + each.getKey() + " has " + each.getValue().partitions() + " partitions and had " + known.partitions();
      }
    }
    return null;
  }

  /** A topic that came, or that has grown since the last look, begins an era at `start`; the same object where none did. */
  public Eras observed(Map<String, Topic> seen, Map<String, Map<Integer, Long>> start, Look look) {
    Map<String, TopicEras> next = new TreeMap<>(topics);
    seen.forEach((name, topic) -> {
      TopicEras known = topics.get(name);
      if (known == null) {
        next.put(name, TopicEras.first(topic.id(), topic.partitions(), look.now()));
      } else if (known.partitions() < topic.partitions()) {
        Map<Integer, Long> from = start.getOrDefault(name, Map.of());
        next.put(name, known.grown(topic.partitions(), from, look.since(), look.now(), look.transition()));
      }
    });
    return next.equals(topics) ? this : new Eras(next);
  }

  /** Where a transition was over when the log had these ends, an era by offset begins there. */
  public Eras settled(Map<String, Map<Integer, Long>> ends, long asked) {
    Map<String, TopicEras> next = new TreeMap<>(topics);
    ends.forEach((name, offsets) -> {
      TopicEras known = topics.get(name);
      // A broker that lags behind may not know the new partitions yet.
      if (known != null && known.isSettled(asked) && offsets.size() >= known.partitions()) {
        next.put(name, known.settled(offsets));
      }
    });
    return next.equals(topics) ? this : new Eras(next);
  }
}
