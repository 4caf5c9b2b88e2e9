package io.milepost.job;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import java.io.Serializable;
import java.util.List;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.AccumulatorV2;

/**
 * The acknowledgements of the batch that is being written, each as soon as its task has ended (step 5).
 *
 * <p>A task adds what its writer did. Spark's scheduler delivers it to the driver when the task has succeeded, and
 * drops it when the task has failed. Per epoch and partition the first one counts, so a second attempt is not counted
 * twice; a new epoch discards those of the old one. They are shown while the batch runs; the seal uses the messages
 * themselves.
 *
 * <p>Register it without a name: otherwise Spark keeps the value of each task for its own pages.
 */
public final class LiveAcks extends AccumulatorV2<LiveAcks.Ack, Integer> {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String BATCH = "streaming.sql.batchId";
  private static final long NONE = -1;

  /** What one writer has done for one epoch, as a JSON object. */
  public record Ack(long epoch, int partition, String json) implements Serializable {}

  private final TreeMap<Integer, Ack> acks = new TreeMap<>();
  private long epoch = NONE;
  private int writers;
  private List<Long> states = List.of();

  /** Called by the sink on the engine's own thread, which knows its batch, when the writers are known and none has started. */
  public void begin(int numWriters) {
    long batch = Long.parseLong(SparkSession.active().sparkContext().getLocalProperty(BATCH));
    begin(batch, numWriters, StateStores.operators());
  }

  synchronized void begin(long begun, int numWriters, List<Long> operators) {
    epoch = begun;
    writers = numWriters;
    states = operators;
    acks.clear();
  }

  /** The epoch these acknowledgements belong to; -1 before the first. */
  public synchronized long epoch() {
    return epoch;
  }

  /** How many writers the epoch has: m of "n of m". */
  public synchronized int writers() {
    return writers;
  }

  /** The operators of the epoch's plan that keep state; they acknowledge when the epoch is sealed. */
  public synchronized List<Long> states() {
    return states;
  }

  /** How many writers have acknowledged: n of "n of m". */
  public synchronized int acknowledged() {
    return acks.size();
  }

  /** `{"epoch": 3, "writers": 4, "acknowledged": 1, "acks": [{"partition": 0, …}]}`. */
  public synchronized String json() {
    ObjectNode json = JSON.createObjectNode();
    json.put("epoch", epoch);
    json.put("writers", writers);
    json.put("acknowledged", acks.size());
    ArrayNode array = json.putArray("acks");
    acks.values().forEach(ack -> array.addRawValue(new RawValue(ack.json)));
    return json.toString();
  }

  @Override
  public synchronized boolean isZero() {
    return acks.isEmpty();
  }

  @Override
  public synchronized LiveAcks copy() {
    LiveAcks copy = new LiveAcks();
    copy.epoch = epoch;
    copy.writers = writers;
    copy.states = states;
    copy.acks.putAll(acks);
    return copy;
  }

  @Override
  public synchronized void reset() {
    acks.clear();
  }

  @Override
  public synchronized void add(Ack ack) {
    if (ack.epoch < epoch) {
      return; // from an abandoned task of a batch that completed without it
    }
    if (ack.epoch > epoch) {
      begin(ack.epoch, 0, List.of());
    }
    acks.putIfAbsent(ack.partition, ack);
  }

  @Override
  public void merge(AccumulatorV2<Ack, Integer> other) {
    for (Ack ack : ((LiveAcks) other).copy().acks.values()) {
      add(ack);
    }
  }

  @Override
  public Integer value() {
    return acknowledged();
  }
}
