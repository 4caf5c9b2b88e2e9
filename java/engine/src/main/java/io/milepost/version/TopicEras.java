package io.milepost.version;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The eras of one topic, oldest first. A value: what follows from growth is another one. */
public final class TopicEras {
  /** How far the clocks of producers and of this driver may be apart. */
  static final long CLOCKS_MS = 300_000;

  private final String id;
  private final long begun;
  private final List<Era> eras;
  private final Era newest;

  private TopicEras(String id, long begun, List<Era> eras) {
    this.id = id;
    this.begun = begun;
    this.eras = List.copyOf(eras);
    this.newest = eras.get(eras.size() - 1);
  }

  /** A topic that is seen for the first time. */
  static TopicEras first(String id, int partitions, long now) {
    return new TopicEras(id, now, List.of(Era.byOffset(0, spread(Map.of(), partitions))));
  }

  static TopicEras parse(JsonNode json) {
    List<Era> eras = new ArrayList<>();
    json.path("eras").forEach(each -> eras.add(Era.parse(each)));
    return new TopicEras(json.path("id").asText(), json.path("begun").asLong(), eras);
  }

  void write(ObjectNode json) {
    json.put("id", id);
    json.put("begun", begun);
    ArrayNode each = json.putArray("eras");
    eras.forEach(era -> era.write(each.addObject()));
  }

  /** How many partitions the newest era knows. */
  int partitions() {
    return newest.partitions();
  }

  /**
   * The topic has more partitions than the newest era knows: everything from `start` on may have been produced after that.
   * `since` is when it had not grown yet for sure, and `transition` how long producers may take to hear of it.
   */
  TopicEras grown(int partitions, Map<Integer, Long> start, long since, long now, long transition) {
    Era era = Era.byTime(newest.generation() + 1, spread(start, partitions), since - CLOCKS_MS,
        now + transition + CLOCKS_MS);
    return with(era);
  }

  /** True when records that were not in the log at that time come from producers that know of the growth. */
  boolean isSettled(long asked) {
    return newest.isTimed() && asked >= newest.until() - CLOCKS_MS;
  }

  /** From these ends of the log on each key has one partition again. */
  TopicEras settled(Map<Integer, Long> ends) {
    return with(Era.byOffset(newest.generation() + 1, spread(ends, Math.max(newest.partitions(), ends.size()))));
  }

  /** Whether the version of this record needs its time. */
  public boolean isTimed(int partition, long offset) {
    return era(partition, offset).isTimed();
  }

  /** The version of the record's cells; `millis` is its time, which counts where {@link #isTimed} says so. */
  public long version(int partition, long offset, long millis) {
    return era(partition, offset).version(partition, offset, millis);
  }

  private Era era(int partition, long offset) {
    for (int i = eras.size() - 1; i > 0; i--) {
      if (eras.get(i).covers(partition, offset)) {
        return eras.get(i);
      }
    }
    return eras.get(0);
  }

  private TopicEras with(Era era) {
    List<Era> more = new ArrayList<>(eras);
    more.add(era);
    return new TopicEras(id, begun, more);
  }

  private static Map<Integer, Long> spread(Map<Integer, Long> offsets, int partitions) {
    Map<Integer, Long> from = new HashMap<>(offsets);
    for (int partition = 0; partition < partitions; partition++) {
      from.putIfAbsent(partition, 0L);
    }
    return from;
  }
}
