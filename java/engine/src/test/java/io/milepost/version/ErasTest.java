package io.milepost.version;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ErasTest {
  private static final long NOW = 1_763_000_000_000L;
  private static final long TRANSITION = 600_000;
  private static final String FIRST = "{\"t\":{\"id\":\"a\",\"begun\":" + NOW
      + ",\"eras\":[{\"generation\":0,\"order\":\"offset\",\"from\":{\"0\":0,\"1\":0,\"2\":0}}]}}";

  private final Eras first = Eras.parse(FIRST);

  private static Map<String, Eras.Topic> seen(int partitions) {
    return Map.of("t", new Eras.Topic("a", partitions));
  }

  private static Eras grown(Eras eras, int partitions, Map<Integer, Long> start, long now) {
    return eras.observed(seen(partitions), Map.of("t", start), new Eras.Look(now - 1000, now, TRANSITION));
  }

  private static Eras settled(Eras eras, Map<Integer, Long> ends, long asked) {
    return eras.settled(Map.of("t", ends), asked);
  }

  @Test
  void inTheFirstEraTheVersionIsTheOffset() {
    assertEquals(41, first.of("t").version(2, 41, 0));
    assertSame(first, grown(first, 3, Map.of(0, 10L), NOW));
    assertSame(first, settled(first, Map.of(0, 10L, 1, 10L, 2, 10L), NOW));
  }

  @Test
  void whatIsWrittenDownIsReadBack() {
    Eras eras = grown(first, 5, Map.of(0, 10L, 1, 20L, 2, 30L), NOW);
    Eras read = Eras.parse(eras.toJson());
    assertEquals(eras.toJson(), read.toJson());
    assertEquals(eras.of("t").version(1, 25, NOW), read.of("t").version(1, 25, NOW));
    assertEquals(FIRST, first.toJson());
    assertThrows(IllegalArgumentException.class, () -> Eras.parse("{\"t\":{\"eras\":[]}}"));
  }

  @Test
  void aTopicThatComesHasItsFirstEra() {
    Eras eras = Eras.parse("{}").observed(seen(2), Map.of(), new Eras.Look(0, NOW, TRANSITION));
    assertEquals(7, eras.of("t").version(1, 7, NOW));
    assertNull(eras.growth(seen(2)));
    assertEquals("topic t has 3 partitions and had 2", eras.growth(seen(3)));
    assertNull(eras.of("other"));
  }

  @Test
  void aTransitionEndsWhereTheLogEndedWhenItsTimeWasOver() {
    Eras eras = grown(first, 4, Map.of(0, 10L, 1, 20L, 2, 30L), NOW);
    Map<Integer, Long> ends = Map.of(0, 100L, 1, 100L, 2, 100L, 3, 100L);
    assertSame(eras, settled(eras, ends, NOW + TRANSITION - 1));
    assertSame(eras, settled(eras, Map.of(0, 100L, 1, 100L, 2, 100L), NOW + TRANSITION), "a broker that lags behind");
    TopicEras after = settled(eras, ends, NOW + TRANSITION).of("t");
    assertTrue(after.isTimed(3, 99));
    assertEquals(2L << 48 | 100, after.version(3, 100, NOW));
    assertEquals(9, after.version(0, 9, NOW));
  }

  @Test
  void aTopicMayGrowAgainWhileItGrows() {
    Eras eras = grown(grown(first, 4, Map.of(0, 10L), NOW), 6, Map.of(0, 50L), NOW + 1000);
    long before = eras.of("t").version(0, 49, NOW + 900);
    long after = eras.of("t").version(5, 0, NOW + 500);
    assertTrue(before < after);
    assertEquals(2, after >>> 48);
  }

  @Test
  void generationsEnd() {
    Era last = Era.byOffset(Era.MAX_GENERATION, Map.of());
    assertTrue(last.version(0, (1L << 48) - 2, 0) > 0);
    assertThrows(IllegalStateException.class, () -> Era.byOffset(Era.MAX_GENERATION + 1, Map.of()));
  }

  @Test
  void recordsOutsideTheWindowAreInTheOrderOfTheirOffsets() {
    Era era = Era.byTime(1, Map.of(0, 10L), NOW, NOW + 1000);
    long far = 10 + (1L << 45);
    long[] ordered = {
        era.version(0, 10, NOW - 1), era.version(0, 11, -1), era.version(0, far, 0),
        era.version(0, 12, NOW), era.version(0, 11, NOW + 1), era.version(0, far, NOW + 999),
        era.version(0, 10, NOW + 1000), era.version(0, far, Long.MAX_VALUE)};
    for (int i = 1; i < ordered.length; i++) {
      assertTrue(ordered[i - 1] < ordered[i], "number " + i);
    }
    assertTrue(ordered[ordered.length - 1] < 2L << 48);
  }

  /** Many producers write many keys; the topic grows, they hear of it one after the other; versions follow their order. */
  @Test
  void versionsFollowTheOrderOfProduction() {
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      int before = 1 + random.nextInt(4);
      int after = before + 1 + random.nextInt(4);
      long[] ends = new long[after];
      for (int partition = 0; partition < before; partition++) {
        ends[partition] = random.nextInt(1_000_000);
      }
      Eras eras = Eras.parse("{}").observed(seen(before), Map.of(), new Eras.Look(0, NOW, 0));
      Map<Integer, Long> newest = new HashMap<>();
      Log log = new Log(random, ends, newest);
      log.write(before, before, eras, NOW);
      eras = grown(eras, after, log.ends(before), NOW + 1000);
      log.write(before, after, eras, NOW + 2000);
      eras = settled(eras, log.ends(after), NOW + 1000 + TRANSITION);
      log.write(after, after, eras, NOW + 1000 + TRANSITION);
      assertNotEquals(0, newest.size());
    }
  }

  /** A log whose keys are put into one of two layouts, and the newest version of each key so far. */
  private static final class Log {
    private final Random random;
    private final long[] ends;
    private final Map<Integer, Long> newest;
    private final Map<Integer, Long> versions = new HashMap<>();

    Log(Random random, long[] ends, Map<Integer, Long> newest) {
      this.random = random;
      this.ends = ends;
      this.newest = newest;
    }

    void write(int one, int other, Eras eras, long from) {
      for (int i = 0; i < 300; i++) {
        int key = random.nextInt(20);
        int partition = key % (random.nextBoolean() ? one : other);
        long version = eras.of("t").version(partition, ends[partition]++, from + i);
        Long older = versions.put(key, version);
        assertTrue(older == null || older < version, "key " + key + " at " + i);
        newest.put(key, version);
      }
    }

    Map<Integer, Long> ends(int partitions) {
      Map<Integer, Long> all = new HashMap<>();
      for (int partition = 0; partition < partitions; partition++) {
        all.put(partition, ends[partition]);
      }
      return all;
    }
  }
}
