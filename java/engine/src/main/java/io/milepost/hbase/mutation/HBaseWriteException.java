package io.milepost.hbase.mutation;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.client.RootCause;
import java.io.IOException;
import java.util.List;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.NotAllMetaRegionsOnlineException;
import org.apache.hadoop.hbase.client.DoNotRetryRegionException;
import org.apache.hadoop.hbase.client.NoServerForRegionException;
import org.apache.hadoop.hbase.client.OperationTimeoutExceededException;
import org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException;
import org.apache.hadoop.hbase.exceptions.MasterStoppedException;
import org.apache.hadoop.hbase.ipc.ServerTooBusyException;
import org.apache.hadoop.hbase.ipc.StoppedRpcClientException;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * HBase did not confirm a batch; says whether a retry can help. A row is named only by its hash, since row keys are
 * data.
 */
public final class HBaseWriteException extends IOException {
  /** Python distinguishes the two by these words in Spark's error text. */
  public static final String FATAL = "MILEPOST_HBASE_FATAL ";
  public static final String RETRYABLE = "MILEPOST_HBASE_RETRYABLE ";
  /** A retryable error: the time that a checkpoint leaves for a write was not enough. */
  public static final String EXPIRED = "MILEPOST_HBASE_EXPIRED ";

  private static final int LONGEST_OPERATION_MILLIS = 120_000;
  /** HBase tells its client not to retry these at once, but they are transient all the same. */
  private static final List<Class<?>> PASSING = List.of(OperationTimeoutExceededException.class,
      NoServerForRegionException.class, NotAllMetaRegionsOnlineException.class, DoNotRetryRegionException.class,
      MasterStoppedException.class, ServerTooBusyException.class, StoppedRpcClientException.class);

  private final boolean fatal;

  HBaseWriteException(boolean fatal, String sentence, Throwable cause) {
    this(fatal ? FATAL : RETRYABLE, sentence, cause);
  }

  private HBaseWriteException(String kind, String sentence, Throwable cause) {
    super(kind + sentence, cause);
    this.fatal = kind.equals(FATAL);
  }

  /** True where a retry cannot help: a missing family, a missing or disabled table, no permission. */
  public boolean fatal() {
    return fatal;
  }

  /** The error of a batch, or null where every change succeeded; `thrown` is what the client threw, or null. */
  static HBaseWriteException of(String table, List<RowChange> changes, Object[] results, Throwable thrown) {
    int failed = 0;
    int first = -1;
    Throwable worst = null;
    for (int i = 0; i < results.length; i++) {
      Throwable error = results[i] instanceof Throwable found ? found : null;
      if (error == null && results[i] != null) {
        continue;
      }
      failed++;
      if (first < 0 || error != null && (worst == null || isFatal(error) && !isFatal(worst))) {
        first = i;
        worst = error;
      }
    }
    if (failed == 0 && thrown == null) {
      return null;
    }
    Throwable cause = worst != null ? worst : thrown;
    boolean fatal = isFatal(cause);
    String where = first < 0 ? "" : ", for example row#" + hash(changes.get(first).row());
    return new HBaseWriteException(fatal, "Writing to HBase table '" + table + "' failed: " + Math.max(failed, 1) + " of "
        + results.length + " mutations were not confirmed" + where + " (" + RootCause.describe(cause) + "). "
        + (fatal
            ? "A retry cannot help. Check the table, its column families and the permissions."
            : "Nothing of this batch is committed; it is written again when the task or the job restarts."
                + " Check that HBase is up."), cause);
  }

  /** The error of a batch that hangs, or that HBase's client abandoned when its time was over; `cause` may be null. */
  public static HBaseWriteException unanswered(HBaseOptions options, Throwable cause) {
    String what = "Writing to HBase table '" + options.table().getNameAsString() + "' failed: a batch was not answered within "
        + options.operationTimeoutMillis() / 1000.0 + " s";
    if (isTimedByCheckpoint(options)) {
      return new HBaseWriteException(EXPIRED, what + ", the time that checkpointing.timeout leaves for it.", cause);
    }
    return new HBaseWriteException(RETRYABLE, what + ". Check that HBase and its ZooKeeper are up, or raise "
        + HConstants.HBASE_CLIENT_OPERATION_TIMEOUT + " in sink.hbase.properties.", cause);
  }

  /**
   * Whether the checkpoint timeout of the job limits a write: the user set no limit, and it is below the longest one.
   */
  static boolean isTimedByCheckpoint(HBaseOptions options) {
    return !options.asMap().containsKey(HConstants.HBASE_CLIENT_OPERATION_TIMEOUT)
        && options.operationTimeoutMillis() < LONGEST_OPERATION_MILLIS;
  }

  /** The error of a batch that is too late to be sent. */
  static HBaseWriteException suspended(String table, long seconds) {
    return new HBaseWriteException(false, "Writing to HBase table '" + table + "' was abandoned: a batch is " + seconds
        + " s late, longer than the batch before it can take. This process was suspended, and another attempt may run its task."
        + " Nothing was sent. Check for a suspended machine or long garbage-collection pauses.", null);
  }

  private static boolean isFatal(Throwable error) {
    boolean fatal = false;
    for (Throwable at = error; at != null; at = at.getCause()) {
      if (at instanceof RetriesExhaustedWithDetailsException several) {
        return several.getCauses().stream().anyMatch(HBaseWriteException::isFatal);
      }
      Throwable reported = at instanceof RemoteException remote ? remote.unwrapRemoteException() : at;
      if (PASSING.stream().anyMatch(type -> type.isInstance(reported))) {
        return false;
      }
      fatal |= reported instanceof DoNotRetryIOException;
    }
    return fatal;
  }

  private static String hash(byte[] row) {
    return Integer.toHexString(Murmur3_x86_32.hashUnsafeBytes2(row, Platform.BYTE_ARRAY_OFFSET, row.length, 0));
  }
}
