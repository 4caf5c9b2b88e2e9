package io.milepost.decode.change;

import io.milepost.record.BadRecordException;
import java.util.List;

/** Decodes one record of a database's change log to changes of rows; not thread safe. */
public interface ChangeDecoder {
  /**
   * The changes in the order in which to apply them; empty where the record changes no row. Each has as many values
   * as {@link io.milepost.decode.Decoders#schema} has columns. {@code value} is null for a tombstone; {@code key} may
   * be null too.
   */
  List<Change> decode(byte[] key, byte[] value) throws BadRecordException;
}
