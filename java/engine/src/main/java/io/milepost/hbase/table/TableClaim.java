package io.milepost.hbase.table;

import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mutation.HBaseWriteException;
import io.milepost.job.WriterWatch;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;

/** The entry of a job among the writers of its table, from its claim to its end. */
public final class TableClaim implements WriterWatch {
  private final HBaseOptions options;
  private final String writer;
  private String document;

  /** Starts from the entry that {@link WriterRegistry#claim} recorded. */
  public TableClaim(Map<String, String> options, String writer, String document) {
    this.options = new HBaseOptions(options);
    this.writer = writer;
    this.document = document;
  }

  /** Records the epoch, which the next start compares with the checkpoint directory. */
  @Override
  public synchronized String fault(long epoch) {
    return put(Map.of(WriterRegistry.checkpointColumn(writer), Long.toString(epoch)));
  }

  /**
   * Replaces the entry before anything is written with the versions that it names; returns null, or why it could not.
   */
  public synchronized String update(String next) {
    String fault = put(Map.of(WriterRegistry.writerColumn(writer), next));
    if (fault == null) {
      document = next;
    }
    return fault;
  }

  private String put(Map<String, String> columns) {
    try {
      boolean owned = WriterRegistry.putIfOwned(HBaseConnections.shared(options), options.table(), writer, document, columns);
      return owned ? null : "Another job has taken over table " + options.table().getNameAsString();
    } catch (IOException e) {
      throw new UncheckedIOException(HBaseWriteException.unanswered(options, e));
    }
  }
}
