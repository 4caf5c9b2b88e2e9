package io.milepost.decode;

/** Passes the bytes on as they are. */
final class RawDecoder implements RecordDecoder {
  @Override
  public void decode(byte[] key, byte[] value, Object[] out) {
    out[0] = key;
    out[1] = value;
  }
}
