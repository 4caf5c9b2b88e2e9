package io.milepost.sink;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.job.Failpoint;
import io.milepost.job.LiveAcks;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** The acknowledgement of one writer (step 5): nothing of it is pending, with what it did. */
public abstract class WriterAck implements WriterCommitMessage {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final WriterId id;

  protected WriterAck(WriterId id) {
    this.id = id;
  }

  /** Adds the counts of this sink's writers. */
  protected abstract void describe(ObjectNode json);

  /** False where the counts contradict each other. */
  protected boolean addsUp() {
    return true;
  }

  /**
   * Refuses acknowledgements that do not add up: there must be one per writer, of this epoch, with consistent counts.
   */
  public static void crossCheck(WriterCommitMessage[] messages, int writers, long epoch) {
    Set<Integer> partitions = new HashSet<>();
    for (WriterCommitMessage message : messages) {
      if (!(message instanceof WriterAck ack)) {
        throw new IllegalStateException("Epoch " + epoch + " cannot be sealed: a writer has not acknowledged (" + message + ")");
      }
      if (ack.id.epoch() != epoch || !partitions.add(ack.id.partition()) || !ack.addsUp()) {
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
  public static String toJson(WriterCommitMessage[] messages) {
    ArrayNode acks = JSON.createArrayNode();
    for (WriterCommitMessage message : messages) {
      acks.add(((WriterAck) message).json());
    }
    return acks.toString();
  }

  /** Completes step 5: reports to `acks`, which may be null, and returns what Spark is given. */
  public final WriterAck give(LiveAcks acks) {
    if (acks != null) {
      acks.add(live());
    }
    Failpoint.reach("5-ack");
    return this;
  }

  /** The same, for observers of the running batch. */
  public final LiveAcks.Ack live() {
    return new LiveAcks.Ack(id.epoch(), id.partition(), json().toString());
  }

  private ObjectNode json() {
    ObjectNode json = JSON.createObjectNode();
    json.put("partition", id.partition());
    json.put("attempt", id.attempt());
    json.put("task", id.task());
    json.put("epoch", id.epoch());
    describe(json);
    return json;
  }
}
