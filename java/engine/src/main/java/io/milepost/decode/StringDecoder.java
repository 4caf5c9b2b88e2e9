package io.milepost.decode;

import io.milepost.decode.text.Detail;
import io.milepost.decode.text.Utf8;
import io.milepost.record.BadRecordException;
import org.apache.spark.unsafe.types.UTF8String;

/** Key and value as text, strictly UTF-8. */
final class StringDecoder implements RecordDecoder {
  @Override
  public void decode(byte[] key, byte[] value, Object[] out) throws BadRecordException {
    out[0] = text(key, "key");
    out[1] = text(value, "value");
  }

  /** The bytes as text without a copy; null stays null. */
  static UTF8String text(byte[] bytes, String what) throws BadRecordException {
    if (bytes == null) {
      return null;
    }
    int bad = Utf8.firstInvalid(bytes, 0, bytes.length);
    if (bad >= 0) {
      throw Detail.malformed("the " + what + " is not UTF-8 at byte " + bad);
    }
    return UTF8String.fromBytes(bytes);
  }
}
