package io.milepost.decode;

/** Returns key and value as bytes, unchanged. */
final class RawDecoder implements RecordDecoder {
  @Override
  public void decode(byte[] key, byte[] value, Object[] out) {
    out[0] = key;
    out[1] = value;
  }
}
