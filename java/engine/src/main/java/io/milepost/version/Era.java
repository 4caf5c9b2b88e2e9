package io.milepost.version;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;

/**
 * A stretch of a topic's log in which versions are made in one way; a later era's versions are above an earlier one's.
 *
 * <p>{@code generation(15 bits) | offset(48)} in the ordinary era. While the topic's partitions grow, keys may be in their
 * old or in their new partition, whose offsets do not compare. In such an era the record's time orders the records of a
 * window, and offsets those before and after it, where each key has one partition:
 *
 * <pre>
 * generation(15) | 0(2) | offset - from                        before the window
 * generation(15) | 1(2) | milliseconds in it | low bits of it  in the window, 46 bits for both
 * generation(15) | 2(2) | offset - from                        after the window
 * </pre>
 */
final class Era {
  static final int OFFSET_BITS = 48;
  static final int MAX_GENERATION = (1 << 15) - 1;
  private static final int RANGE_BITS = 46;
  private static final long BEFORE = 0L << RANGE_BITS;
  private static final long WITHIN = 1L << RANGE_BITS;
  private static final long AFTER = 2L << RANGE_BITS;

  private final int generation;
  private final boolean timed;
  private final long[] from;
  private final long since;
  private final long until;
  private final int tieBits;

  private Era(int generation, boolean timed, Map<Integer, Long> from, long since, long until) {
    if (generation < 0 || generation > MAX_GENERATION) {
      throw new IllegalStateException("The versions of the table are used up: a topic can have " + (MAX_GENERATION + 1)
          + " generations, and this would be number " + generation + ". Write into another table.");
    }
    this.generation = generation;
    this.timed = timed;
    this.from = new long[from.keySet().stream().mapToInt(partition -> partition + 1).max().orElse(0)];
    from.forEach((partition, offset) -> this.from[partition] = offset);
    this.since = since;
    this.until = until;
    this.tieBits = RANGE_BITS - (Long.SIZE - Long.numberOfLeadingZeros(Math.max(until - since, 1)));
  }

  static Era byOffset(int generation, Map<Integer, Long> from) {
    return new Era(generation, false, from, 0, 0);
  }

  /** Records of `since` to `until` (milliseconds since 1970, the latter excluded) are ordered by their time. */
  static Era byTime(int generation, Map<Integer, Long> from, long since, long until) {
    return new Era(generation, true, from, since, until);
  }

  static Era parse(JsonNode json) {
    Map<Integer, Long> from = new TreeMap<>();
    json.path("from").properties().forEach(each -> from.put(Integer.valueOf(each.getKey()), each.getValue().asLong()));
    int generation = json.path("generation").asInt();
    return switch (json.path("order").asText()) {
      case "offset" -> byOffset(generation, from);
      case "time" -> byTime(generation, from, json.path("since").asLong(), json.path("until").asLong());
      default -> throw new IllegalArgumentException("Not an era of versions: " + json);
    };
  }

  void write(ObjectNode json) {
    json.put("generation", generation);
    json.put("order", timed ? "time" : "offset");
    ObjectNode offsets = json.putObject("from");
    for (int partition = 0; partition < from.length; partition++) {
      offsets.put(Integer.toString(partition), from[partition]);
    }
    if (timed) {
      json.put("since", since);
      json.put("until", until);
    }
  }

  int generation() {
    return generation;
  }

  int partitions() {
    return from.length;
  }

  boolean isTimed() {
    return timed;
  }

  long until() {
    return until;
  }

  boolean covers(int partition, long offset) {
    return from(partition) <= offset;
  }

  private long from(int partition) {
    return partition < from.length ? from[partition] : 0;
  }

  /** `millis` is the record's time, which only a timed era looks at. */
  long version(int partition, long offset, long millis) {
    long head = (long) generation << OFFSET_BITS;
    if (!timed) {
      return head | offset;
    }
    // A partition never comes near 2^46 records within one era.
    long distance = offset - from(partition);
    if (millis < since) {
      return head | BEFORE | distance;
    }
    if (millis >= until) {
      return head | AFTER | distance;
    }
    return head | WITHIN | (millis - since) << tieBits | distance & (1L << tieBits) - 1;
  }
}
