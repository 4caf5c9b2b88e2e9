package io.milepost.hbase;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.job.LiveAcks;
import io.milepost.record.Reason;
import java.io.Serializable;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** The acknowledgement of one writer: all its rows are in HBase, and this is what they were. */
final class HBaseCommitMessage implements WriterCommitMessage {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Each row is counted in exactly one of these. */
  record Counts(long puts, long deletes, long noops, long ignored, long bad) implements Serializable {
    long rows() {
      return puts + deletes + noops + ignored + bad;
    }
  }

  /** What went over the wire; fewer mutations than rows, where rows were folded. */
  record Flushes(long mutations, long bytes, long count, long millis) implements Serializable {}

  private final WriterId id;
  private final Counts counts;
  private final TreeMap<Reason, Long> bad;
  private final Flushes flushes;
  private final TreeMap<String, TreeMap<Integer, long[]>> offsets;

  HBaseCommitMessage(WriterId id, Counts counts, Map<Reason, Long> bad, Flushes flushes,
      TreeMap<String, TreeMap<Integer, long[]>> offsets) {
    this.id = id;
    this.counts = counts;
    this.bad = new TreeMap<>(bad);
    this.flushes = flushes;
    this.offsets = offsets;
  }

  /** Refuses acknowledgements that do not add up: each writer once, of this epoch, each bad record with its reason. */
  static void crossCheck(WriterCommitMessage[] messages, int writers, long epoch) {
    Set<Integer> partitions = new HashSet<>();
    for (WriterCommitMessage message : messages) {
      if (!(message instanceof HBaseCommitMessage ack)) {
        throw new IllegalStateException("Epoch " + epoch + " cannot be sealed: a writer has not acknowledged (" + message + ")");
      }
      long reasons = ack.bad.values().stream().mapToLong(Long::longValue).sum();
      if (ack.id.epoch() != epoch || !partitions.add(ack.id.partition()) || reasons != ack.counts.bad()) {
        throw new IllegalStateException("Epoch " + epoch + " cannot be sealed: this acknowledgement does not fit: " + ack.json());
      }
    }
    // Spark runs one empty writer where the plan has no partition at all.
    if (messages.length < writers) {
      throw new IllegalStateException("Epoch " + epoch + " cannot be sealed: " + messages.length + " of " + writers
          + " writers have acknowledged");
    }
  }

  /** The acknowledgements as a JSON array. */
  static String toJson(WriterCommitMessage[] messages) {
    ArrayNode acks = JSON.createArrayNode();
    for (WriterCommitMessage message : messages) {
      acks.add(((HBaseCommitMessage) message).json());
    }
    return acks.toString();
  }

  /** The same, for those who look on while the batch runs. */
  LiveAcks.Ack live() {
    return new LiveAcks.Ack(id.epoch(), id.partition(), json().toString());
  }

  private ObjectNode json() {
    ObjectNode json = JSON.createObjectNode();
    json.put("partition", id.partition());
    json.put("attempt", id.attempt());
    json.put("task", id.task());
    json.put("epoch", id.epoch());
    json.put("rows", counts.rows());
    json.put("puts", counts.puts());
    json.put("deletes", counts.deletes());
    json.put("noops", counts.noops());
    json.put("ignored", counts.ignored());
    json.set("bad", JSON.valueToTree(bad));
    json.put("mutations", flushes.mutations());
    json.put("bytes", flushes.bytes());
    json.put("flushes", flushes.count());
    json.put("flush-ms", flushes.millis());
    json.set("offsets", JSON.valueToTree(offsets));
    return json;
  }
}
