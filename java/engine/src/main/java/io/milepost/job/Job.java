package io.milepost.job;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.record.Reason;
import io.milepost.record.RejectedRecords;
import io.milepost.version.Eras;
import io.milepost.watermark.LateRecords;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/** One running job as the engine sees it: its gate, its acknowledgements and its counts. */
public final class Job {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final String id;
  private final Gate gate = new Gate();
  private final RejectedRecords rejected = new RejectedRecords();
  private final LateRecords late = new LateRecords();
  private final LiveAcks acks = new LiveAcks();
  private final Map<String, TopicWatch> topics = new TreeMap<>();
  private final Map<String, String> positions = new TreeMap<>();
  private final Set<String> finished = new HashSet<>();
  private final Map<String, Long> planned = new TreeMap<>();
  private final EnumMap<Reason, Long> rejectedBefore = new EnumMap<>(Reason.class);
  private final Map<String, GrowthWatch> growth = new TreeMap<>();
  private volatile Coordinator coordinator;
  private volatile WriterWatch writer;
  private volatile Eras eras;
  private volatile long notGrownAt;
  private long sealedEpoch = -1;
  private long reportedEpoch = -1;
  private volatile String sealing = "[]";
  private int sources = 1;

  Job(String id) {
    this.id = id;
  }

  public String id() {
    return id;
  }

  public Gate gate() {
    return gate;
  }

  public RejectedRecords rejected() {
    return rejected;
  }

  /** The records of the running batch that operators drop because they are late. */
  public LateRecords late() {
    return late;
  }

  /** Called from Python before the query starts. */
  public void setCoordinator(Coordinator theCoordinator) {
    this.coordinator = theCoordinator;
  }

  /** Called from Python before the query starts, if the sink records which jobs write to it. */
  public void setWriterWatch(WriterWatch theWriter) {
    this.writer = theWriter;
  }

  /**
   * Called from Python before the query starts: sets the number of sources. The job is finished when all of them are.
   */
  public synchronized void expectSources(int count) {
    sources = count;
  }

  /** The acknowledgements of the running batch so far. */
  public LiveAcks acks() {
    return acks;
  }

  /** Called by a source that watches the ids of its topics. */
  public synchronized void watch(String source, TopicWatch ids) {
    topics.put(source, ids);
  }

  /** The message that names a topic that has changed, or null. */
  private synchronized String topicFault() {
    return topics.values().stream().map(TopicWatch::fault).filter(Objects::nonNull).findFirst().orElse(null);
  }

  /**
   * Called from Python before the query starts, where versions are offsets: the eras so far, and a time (milliseconds since
   * 1970) at which no topic had more partitions than they know.
   */
  public void setEras(String theEras, long since) {
    eras = Eras.parse(theEras);
    notGrownAt = since;
  }

  /** The eras of versions that are in force; null where versions are not offsets. */
  public Eras eras() {
    return eras;
  }

  /** When no topic had more partitions than the eras know, in milliseconds since 1970. */
  public long notGrownAt() {
    return notGrownAt;
  }

  /** Called by a source before its batch runs: makes these eras durable, and then puts them in force. */
  public void begin(Eras next) {
    String why = coordinator == null ? "" : coordinator.keepVersions(next.toJson());
    if (why != null && !why.isEmpty()) {
      throw new IllegalStateException("The eras of versions cannot be stored: " + why);
    }
    eras = next;
  }

  /** Called by a source that watches the number of its partitions. */
  public synchronized void watch(String source, GrowthWatch watch) {
    growth.put(source, watch);
  }

  private void requireNotGrown() {
    List<GrowthWatch> watches;
    synchronized (this) {
      watches = List.copyOf(growth.values());
    }
    watches.forEach(GrowthWatch::requireNotGrown);
  }

  private synchronized ObjectNode topicIds() {
    ObjectNode ids = JSON.createObjectNode();
    topics.values().forEach(watch -> ids.setAll((ObjectNode) parse(watch.known())));
    return ids;
  }

  /** Called by a source at each question of the engine: everything before these offsets is committed (step 8). */
  public synchronized void sourceAt(String source, String offsets) {
    positions.put(source, offsets);
  }

  /** Called by a source when the range of its next batch is known, before the writers are made. */
  public synchronized void sourcePlanned(String source, long records) {
    planned.put(source, records);
  }

  /**
   * Called once per batch by a sink: the number of records of all sources together. A source without records is not
   * planned.
   */
  public synchronized long takePlannedRecords() {
    long records = planned.values().stream().mapToLong(Long::longValue).sum();
    planned.clear();
    return records;
  }

  /** Called by a bounded source when everything up to its end is committed. */
  public synchronized void sourceFinished(String source) {
    finished.add(source);
  }

  /** True when every source is bounded and has reached its end. */
  public synchronized boolean isFinished() {
    return positions.size() >= sources && finished.containsAll(positions.keySet());
  }

  /**
   * Called by a source at each question of the engine, which does one thing after the other: a sealed batch is in the
   * commit log by now (step 8). Python hears of each once; an idle poll does not reach it.
   */
  public void atGate() {
    long committed;
    synchronized (this) {
      if (sealedEpoch <= reportedEpoch) {
        return;
      }
      reportedEpoch = sealedEpoch;
      committed = sealedEpoch;
    }
    if (coordinator != null) {
      coordinator.committed(committed);
    }
  }

  /**
   * Step 6: all writers have acknowledged; the coordinator seals the checkpoint or declines it. Spark may call this again
   * for the same epoch; the second call does nothing.
   */
  public void seal(long epoch, String acks) {
    synchronized (this) {
      if (epoch <= sealedEpoch) {
        return;
      }
    }
    requireNotGrown();
    sealing = acks;
    // Outside the lock: participants may take long, and readers of the status must not wait for them.
    if (coordinator != null) {
      String why = coordinator.seal(epoch, report(epoch, acks));
      if (why != null && !why.isEmpty()) {
        throw new CheckpointDeclinedException(epoch, why);
      }
    }
    sealed(epoch);
  }

  /** The acknowledgements of the epoch that is being sealed, or was sealed last; for the sink's own participant. */
  public String sealing() {
    return sealing;
  }

  private synchronized void sealed(long epoch) {
    sealedEpoch = epoch;
    rejectedBefore.putAll(rejected.value());
  }

  /** What sources and writers have rejected in the batch that is being sealed; earlier counts are in a checkpoint. */
  private synchronized Map<Reason, Long> rejectedNow(JsonNode acks) {
    EnumMap<Reason, Long> counts = new EnumMap<>(Reason.class);
    rejected.value().forEach((reason, count) -> counts.put(reason, count - rejectedBefore.getOrDefault(reason, 0L)));
    for (JsonNode ack : acks) {
      ack.path("bad").properties().forEach(bad ->
          counts.merge(Reason.valueOf(bad.getKey()), bad.getValue().asLong(), Long::sum));
    }
    counts.values().removeIf(count -> count == 0);
    return counts;
  }

  private String report(long epoch, String acks) {
    ObjectNode report = JSON.createObjectNode();
    report.put("admitted", gate.hasAdmitted());
    report.put("wanted", gate.wasWanted());
    report.put("admitted-at", gate.admittedAt());
    report.put("gate-wait-ms", gate.waitedMs());
    report.set("writers", parse(acks));
    report.set("states", parse(StateStores.describe()));
    report.set("rejected", JSON.valueToTree(rejectedNow(parse(acks))));
    report.set("late", JSON.valueToTree(new TreeMap<>(late.of(epoch))));
    report.put("topic-fault", topicFault());
    report.put("writer-fault", writer == null ? null : writer.fault(epoch));
    report.set("topic-ids", topicIds());
    if (eras != null) {
      report.set("versions", parse(eras.toJson()));
    }
    return report.toString();
  }

  /**
   * The status for Python: the positions of the sources, and how many writers of the running batch have acknowledged.
   */
  public synchronized String status() {
    ObjectNode status = JSON.createObjectNode();
    status.put("sealed", sealedEpoch);
    status.put("running", acks.epoch());
    status.put("tasks", acks.writers());
    status.set("states", JSON.valueToTree(acks.states()));
    status.put("acknowledged", acks.acknowledged());
    status.set("acks", parse(acks.json()).path("acks"));
    status.put("finished", isFinished());
    status.set("positions", JSON.valueToTree(positions.values()));
    return status.toString();
  }

  private static JsonNode parse(String json) {
    try {
      return JSON.readTree(json);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("Not JSON: " + json, e);
    }
  }
}
