package io.milepost.hbase.rollback;

import io.milepost.sink.WriterAck;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** The reports of the writers of a rollback, kept on the driver until Python takes them. */
public final class RollbackReports {
  private static final Map<String, List<String>> FOUND = new ConcurrentHashMap<>();

  private RollbackReports() {}

  static void add(String id, WriterCommitMessage[] messages) {
    FOUND.computeIfAbsent(id, key -> new ArrayList<>()).add(WriterAck.toJson(messages));
  }

  /** JSON arrays of acknowledgements, one per batch; removes them. */
  public static List<String> take(String id) {
    List<String> found = FOUND.remove(id);
    return found == null ? List.of() : found;
  }
}
