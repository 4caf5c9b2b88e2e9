package io.milepost.job;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.record.Reason;
import io.milepost.record.RejectedRecords;
import java.util.EnumMap;
import java.util.HashSet;
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
  private final LiveAcks acks = new LiveAcks();
  private final Map<String, TopicWatch> topics = new TreeMap<>();
  private final Map<String, String> positions = new TreeMap<>();
  private final Set<String> finished = new HashSet<>();
  private final Map<String, Long> totals = new TreeMap<>();
  private final EnumMap<Reason, Long> rejectedBySink = new EnumMap<>(Reason.class);
  private volatile Coordinator coordinator;
  private long sealedEpoch = -1;
  private long toldEpoch = -1;
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

  /** Called from Python before the query starts. */
  public void coordinatedBy(Coordinator theCoordinator) {
    this.coordinator = theCoordinator;
  }

  /** Called from Python before the query starts: it has so many sources, and is finished when all of them are. */
  public synchronized void expectSources(int count) {
    sources = count;
  }

  /** The acknowledgements of the running batch, as they come. */
  public LiveAcks acks() {
    return acks;
  }

  /** Called by a source that watches the identity of its topics. */
  public synchronized void watch(String source, TopicWatch ids) {
    topics.put(source, ids);
  }

  /** The sentence that says which topic is not the one it was, or null. */
  private synchronized String topicFault() {
    return topics.values().stream().map(TopicWatch::fault).filter(Objects::nonNull).findFirst().orElse(null);
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
      if (sealedEpoch <= toldEpoch) {
        return;
      }
      toldEpoch = sealedEpoch;
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
    // Outside the lock: participants may take their time, and whoever looks at the status must not wait for them.
    if (coordinator != null) {
      String why = coordinator.seal(epoch, report(acks));
      if (why != null && !why.isEmpty()) {
        throw new CheckpointDeclinedException(epoch, why);
      }
    }
    count(epoch, parse(acks));
  }

  private synchronized void count(long epoch, JsonNode acks) {
    sealedEpoch = epoch;
    for (JsonNode ack : acks) {
      for (String count : new String[] {"rows", "puts", "deletes", "noops", "ignored", "bytes", "flushes"}) {
        totals.merge(count, ack.path(count).asLong(), Long::sum);
      }
      ack.path("bad").properties().forEach(bad ->
          rejectedBySink.merge(Reason.valueOf(bad.getKey()), bad.getValue().asLong(), Long::sum));
    }
  }

  private String report(String acks) {
    ObjectNode report = JSON.createObjectNode();
    report.put("admitted", gate.hasAdmitted());
    report.put("wanted", gate.wasWanted());
    report.put("admitted-at", gate.admittedAt());
    report.put("gate-wait-ms", gate.waitedMs());
    report.set("writers", parse(acks));
    report.set("states", parse(StateStores.describe()));
    report.put("topic-fault", topicFault());
    report.set("topic-ids", topicIds());
    return report.toString();
  }

  /** What Python shows: counts so far, and how many of the running batch's writers have acknowledged. */
  public synchronized String status() {
    ObjectNode status = JSON.createObjectNode();
    status.put("sealed", sealedEpoch);
    status.put("running", acks.epoch());
    status.put("tasks", acks.writers());
    status.put("acknowledged", acks.acknowledged());
    status.set("acks", parse(acks.json()).path("acks"));
    status.put("finished", isFinished());
    status.set("positions", JSON.valueToTree(positions.values()));
    status.set("totals", JSON.valueToTree(totals));
    Map<Reason, Long> bad = rejected.value();
    rejectedBySink.forEach((reason, count) -> bad.merge(reason, count, Long::sum));
    status.set("rejected", JSON.valueToTree(bad));
    return status.toString();
  }

  private static JsonNode parse(String json) {
    try {
      return JSON.readTree(json);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("This is no JSON: " + json, e);
    }
  }
}
