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
import java.util.Set;
import java.util.TreeMap;

/** One running job as the engine sees it: its gate, its acknowledgements and its counts. */
public final class Job {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final String id;
  private final Gate gate = new Gate();
  private final RejectedRecords rejected = new RejectedRecords();
  private final Map<String, String> positions = new TreeMap<>();
  private final Set<String> finished = new HashSet<>();
  private final Map<String, Long> totals = new TreeMap<>();
  private final EnumMap<Reason, Long> rejectedBySink = new EnumMap<>(Reason.class);
  private long sealedEpoch = -1;
  private long runningBatch = -1;
  private int tasks;
  private int acknowledged;

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
    return !positions.isEmpty() && finished.containsAll(positions.keySet());
  }

  /** Step 6: all writers have acknowledged. Spark may call this again for the same epoch; the second call counts nothing. */
  public synchronized void sealed(long epoch, String acks) {
    if (epoch <= sealedEpoch) {
      return;
    }
    sealedEpoch = epoch;
    for (JsonNode ack : parse(acks)) {
      for (String count : new String[] {"rows", "puts", "deletes", "noops", "ignored", "bytes", "flushes"}) {
        totals.merge(count, ack.path(count).asLong(), Long::sum);
      }
      ack.path("bad").properties().forEach(bad ->
          rejectedBySink.merge(Reason.valueOf(bad.getKey()), bad.getValue().asLong(), Long::sum));
    }
  }

  synchronized void batchStarted(long batch, int numTasks) {
    runningBatch = batch;
    tasks = numTasks;
    acknowledged = 0;
  }

  synchronized void taskAcknowledged() {
    acknowledged++;
  }

  /** What Python shows: counts so far, and how many of the running batch's writers have acknowledged. */
  public synchronized String status() {
    ObjectNode status = JSON.createObjectNode();
    status.put("sealed", sealedEpoch);
    status.put("running", runningBatch);
    status.put("tasks", tasks);
    status.put("acknowledged", acknowledged);
    status.put("finished", isFinished());
    status.set("positions", JSON.valueToTree(positions.values()));
    status.set("totals", JSON.valueToTree(totals));
    Map<Reason, Long> bad = rejected.value();
    rejectedBySink.forEach((reason, count) -> bad.merge(reason, count, Long::sum));
    status.set("rejected", JSON.valueToTree(bad));
    return status.toString();
  }

  private static JsonNode parse(String acks) {
    try {
      return JSON.readTree(acks);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("These are no acknowledgements: " + acks, e);
    }
  }
}
