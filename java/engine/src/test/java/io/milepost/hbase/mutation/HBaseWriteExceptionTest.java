package io.milepost.hbase.mutation;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Rows;
import java.io.IOException;
import java.util.List;
import org.apache.hadoop.hbase.NotServingRegionException;
import org.apache.hadoop.hbase.TableNotFoundException;
import org.apache.hadoop.hbase.client.NoServerForRegionException;
import org.apache.hadoop.hbase.client.OperationTimeoutExceededException;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.RetriesExhaustedException;
import org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException;
import org.apache.hadoop.hbase.security.AccessDeniedException;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.ipc.RemoteException;
import org.junit.jupiter.api.Test;

class HBaseWriteExceptionTest {
  private static final List<RowChange> ONE =
      List.of(new RowChange(Bytes.toBytes("secret"), RowChange.NONE, RowChange.NONE));

  private static HBaseWriteException of(Object result, Throwable thrown) {
    return HBaseWriteException.of("t", ONE, new Object[] {result}, thrown);
  }

  @Test
  void successIsNoError() {
    assertNull(of(Result.EMPTY_RESULT, null));
  }

  @Test
  void whatNoRetryCanMendIsFatal() {
    assertTrue(of(new AccessDeniedException("no"), null).fatal());
    assertTrue(of(null, new TableNotFoundException("t")).fatal());
    assertTrue(of(new RemoteException(AccessDeniedException.class.getName(), "no"), null).fatal());
    assertTrue(of(null, new RetriesExhaustedWithDetailsException(
        List.of(new IOException("x"), new AccessDeniedException("no")), List.of(new Put(Bytes.toBytes("r"))), List.of("h"))).fatal());
  }

  @Test
  void theRestMayBeTriedAgain() {
    assertFalse(of(new NotServingRegionException("r"), null).fatal());
    assertFalse(of(null, new RetriesExhaustedException("15 attempts", new IOException("refused"))).fatal());
    assertFalse(of(null, null).fatal());
    // HBase's own client must not retry this one; the job may.
    assertFalse(of(null, new OperationTimeoutExceededException("meta is slow")).fatal());
    assertFalse(of(null, new RetriesExhaustedException("x", new NoServerForRegionException("r"))).fatal());
  }

  @Test
  void theSentenceShowsTheRootAndNotTheRow() {
    String message = of(null, new RetriesExhaustedException("15 attempts", new IOException("refused\nat line"))).getMessage();
    assertTrue(message.contains("(IOException: refused)"), message);
    assertTrue(message.contains("row#"), message);
    assertFalse(message.contains("secret"), message);
  }

  @Test
  void aWriteExpiresWithTheCheckpointUnlessTheUserLimitsIt() {
    assertTrue(HBaseWriteException.isTimedByCheckpoint(Rows.options("operation-timeout-ms", "4000")));
    assertFalse(HBaseWriteException.isTimedByCheckpoint(Rows.options("operation-timeout-ms", "120000")));
    assertFalse(HBaseWriteException.isTimedByCheckpoint(
        Rows.options("operation-timeout-ms", "4000", "hbase.client.operation.timeout", "3000")));
  }
}
