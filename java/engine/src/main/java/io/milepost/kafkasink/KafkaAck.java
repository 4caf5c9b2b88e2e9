package io.milepost.kafkasink;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.sink.WriterAck;
import io.milepost.sink.WriterId;

/** The acknowledgement of one writer: the broker has all its records, in a transaction that is still open. */
final class KafkaAck extends WriterAck {
  private static final long serialVersionUID = 1L;

  private final long rows;
  private final long bytes;
  private final long flushMillis;
  private final OpenTransaction transaction;

  /** `transaction` is null where there were no rows, or where no transactions are used. */
  KafkaAck(WriterId id, long rows, long bytes, long flushMillis, OpenTransaction transaction) {
    super(id);
    this.rows = rows;
    this.bytes = bytes;
    this.flushMillis = flushMillis;
    this.transaction = transaction;
  }

  OpenTransaction transaction() {
    return transaction;
  }

  @Override
  protected void describe(ObjectNode json) {
    json.put("rows", rows);
    json.put("bytes", bytes);
    json.put("flush-ms", flushMillis);
    if (transaction != null) {
      json.set("transaction", transaction.json());
    }
  }
}
