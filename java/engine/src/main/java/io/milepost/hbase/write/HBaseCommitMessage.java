package io.milepost.hbase.write;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.hbase.mutation.FlushStats;
import io.milepost.hbase.mutation.StagedFile;
import io.milepost.record.Reason;
import io.milepost.sink.WriterAck;
import io.milepost.sink.WriterId;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** The acknowledgement of one writer: all its rows are in HBase or in HFiles that can be loaded, with counts. */
final class HBaseCommitMessage extends WriterAck {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Each row is counted in exactly one of these. */
  record Counts(long puts, long deletes, long noops, long ignored, long bad) implements Serializable {
    long rows() {
      return puts + deletes + noops + ignored + bad;
    }
  }

  private final Counts counts;
  private final TreeMap<Reason, Long> bad;
  private final FlushStats flushes;
  /** Null where changes were sent as mutations. */
  private final ArrayList<StagedFile> staged;
  private final TreeMap<String, TreeMap<Integer, long[]>> offsets;

  HBaseCommitMessage(WriterId id, Counts counts, Map<Reason, Long> bad, FlushStats flushes, List<StagedFile> staged,
      TreeMap<String, TreeMap<Integer, long[]>> offsets) {
    super(id);
    this.counts = counts;
    this.bad = new TreeMap<>(bad);
    this.flushes = flushes;
    this.staged = staged == null ? null : new ArrayList<>(staged);
    this.offsets = offsets;
  }

  /** The reasons add up to the number of bad records. */
  @Override
  protected boolean addsUp() {
    return bad.values().stream().mapToLong(Long::longValue).sum() == counts.bad();
  }

  /** The HFiles of all writers. */
  static List<StagedFile> staged(WriterCommitMessage[] messages) {
    return Arrays.stream(messages).map(message -> ((HBaseCommitMessage) message).staged)
        .filter(Objects::nonNull).flatMap(List::stream).toList();
  }

  @Override
  protected void describe(ObjectNode json) {
    json.put("rows", counts.rows());
    json.put("puts", counts.puts());
    json.put("deletes", counts.deletes());
    json.put("noops", counts.noops());
    json.put("ignored", counts.ignored());
    json.set("bad", JSON.valueToTree(bad));
    json.put("write", staged == null ? "mutations" : "bulk-load");
    if (staged != null) {
      json.put("files", staged.size());
    }
    json.put("mutations", flushes.mutations());
    json.put("bytes", flushes.bytes());
    json.put("flushes", flushes.count());
    json.put("flush-ms", flushes.millis());
    json.put("direct", flushes.direct());
    json.put("superseded", flushes.superseded());
    json.set("offsets", JSON.valueToTree(offsets));
  }
}
