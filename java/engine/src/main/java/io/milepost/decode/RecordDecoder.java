package io.milepost.decode;

import io.milepost.record.BadRecordException;

/** Turns one record into the values of the data columns; not thread safe. */
public interface RecordDecoder {
  /**
   * Fills {@code out[0..n)} with Catalyst-internal values, n being the length of {@link Decoders#schema}. Called once
   * per record that has a value; {@code key} may be null. What is in {@code out} beyond n is left alone. After a
   * {@link BadRecordException} the first n are undefined, and the decoder can be used on. The result may refer to the
   * arrays given in.
   */
  void decode(byte[] key, byte[] value, Object[] out) throws BadRecordException;
}
