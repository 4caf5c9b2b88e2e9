package io.milepost.record;

import java.util.EnumMap;
import java.util.Map;

/** Counts by reason. */
final class Tally {
  private final EnumMap<Reason, Long> counts = new EnumMap<>(Reason.class);

  void add(Reason reason) {
    counts.merge(reason, 1L, Long::sum);
  }

  Map<Reason, Long> counts() {
    return Map.copyOf(counts);
  }
}
