package io.milepost.decode;

import io.milepost.record.BadRecordException;

/** Decodes one record to the values of the data columns; not thread safe. */
public interface RecordDecoder {
  /**
   * Fills {@code out[0..n)} with Catalyst-internal values, where n is the length of {@link Decoders#schema}. Called
   * once per record that has a value; {@code key} may be null. Entries of {@code out} beyond n are left unchanged.
   * After a {@link BadRecordException} the first n entries are undefined, and the decoder remains usable. The result
   * may refer to the given arrays.
   */
  void decode(byte[] key, byte[] value, Object[] out) throws BadRecordException;
}
