package io.milepost.kafka.reader;

import io.milepost.decode.change.Change;
import io.milepost.decode.change.ChangeDecoder;
import io.milepost.record.BadRecordException;
import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Decodes a change-log record to one row per change; a delete is a tombstone that has its columns. */
final class ChangeRowDecoder extends RowDecoder {
  private final ChangeDecoder changes;
  private Iterator<Change> rest = Collections.emptyIterator();

  ChangeRowDecoder(StructType schema, ChangeDecoder changes) {
    super(schema, null, null);
    this.changes = changes;
  }

  @Override
  InternalRow decode(InternalRow record) throws BadRecordException {
    rest = Collections.emptyIterator();
    byte[] key = key(record);
    rest = changes.decode(key, value(record)).iterator();
    setOrigin(record, key, false);
    return rest.hasNext() ? more() : null;
  }

  @Override
  boolean hasMore() {
    return rest.hasNext();
  }

  @Override
  InternalRow more() {
    Change change = rest.next();
    return row(change.values(), change.isDelete());
  }
}
