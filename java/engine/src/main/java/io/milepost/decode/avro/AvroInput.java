package io.milepost.decode.avro;

import io.milepost.decode.text.Detail;
import io.milepost.decode.text.Utf8;
import io.milepost.record.BadRecordException;
import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/** Avro's binary primitives over one record; a length is trusted only as far as there are bytes for it. */
final class AvroInput {
  /** Elements of zero bytes (null, empty records) can have any count at no cost; this is the limit. */
  static final int MAX_EMPTY_ELEMENTS = 1 << 16;

  private byte[] bytes;
  private int at;

  void reset(byte[] value, int from) {
    bytes = value;
    at = from;
  }

  int remaining() {
    return bytes.length - at;
  }

  boolean readBoolean() throws BadRecordException {
    need(1, "a boolean");
    byte b = bytes[at];
    if (b != 0 && b != 1) {
      throw broken("a boolean that is neither 0 nor 1");
    }
    at++;
    return b == 1;
  }

  int readInt() throws BadRecordException {
    int start = at;
    long value = readLong();
    if (value != (int) value) {
      at = start;
      throw broken("an int of more than 32 bits");
    }
    return (int) value;
  }

  long readLong() throws BadRecordException {
    int start = at;
    long zigzag = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at >= bytes.length) {
        throw ended("a number");
      }
      long b = bytes[at++];
      zigzag |= (b & 0x7f) << shift;
      if (b >= 0) {
        if (shift == 63 && b > 1) {
          break;
        }
        return zigzag >>> 1 ^ -(zigzag & 1);
      }
    }
    at = start;
    throw broken("a number of more than 64 bits");
  }

  float readFloat() throws BadRecordException {
    need(4, "a float");
    return Float.intBitsToFloat((int) littleEndian(4));
  }

  double readDouble() throws BadRecordException {
    need(8, "a double");
    return Double.longBitsToDouble(littleEndian(8));
  }

  private long littleEndian(int count) {
    long value = 0;
    for (int i = count - 1; i >= 0; i--) {
      value = value << 8 | bytes[at + i] & 0xff;
    }
    at += count;
    return value;
  }

  byte[] readBytes() throws BadRecordException {
    return readFixed(readLength("bytes"));
  }

  byte[] readFixed(int size) throws BadRecordException {
    need(size, "fixed bytes");
    at += size;
    return Arrays.copyOfRange(bytes, at - size, at);
  }

  UTF8String readString() throws BadRecordException {
    int length = readLength("a string");
    int bad = Utf8.firstInvalid(bytes, at, at + length);
    if (bad >= 0) {
      at = bad;
      throw broken("a string that is not UTF-8");
    }
    return UTF8String.fromBytes(readFixed(length));
  }

  private int readLength(String what) throws BadRecordException {
    int start = at;
    long length = readLong();
    if (length < 0 || length > remaining()) {
      long left = remaining();
      at = start;
      throw broken(what + " of length " + length + ", where " + left + " bytes are left");
    }
    return (int) length;
  }

  /**
   * The number of elements in the next block of an array or map, 0 at its end. {@code soFar} elements have been read;
   * {@code leastBytes} is the minimum size of one.
   */
  int readBlockCount(int soFar, int leastBytes) throws BadRecordException {
    int start = at;
    long count = readLong();
    if (count < 0) {
      // A negative count is followed by the size of the block in bytes, which is needed only to skip it.
      if (count == Long.MIN_VALUE || readLong() < 0) {
        at = start;
        throw broken("a block of negative size");
      }
      count = -count;
    }
    long most = leastBytes == 0 ? MAX_EMPTY_ELEMENTS - soFar : remaining() / leastBytes;
    if (count > most) {
      long left = remaining();
      at = start;
      throw broken("a block of " + count + " elements, where " + left + " bytes are left");
    }
    return (int) count;
  }

  int readIndex(int count, String what) throws BadRecordException {
    int start = at;
    long index = readLong();
    if (index < 0 || index >= count) {
      at = start;
      throw broken(what + " " + index + " of " + count);
    }
    return (int) index;
  }

  private void need(int count, String what) throws BadRecordException {
    if (count > remaining()) {
      throw ended(what);
    }
  }

  private BadRecordException ended(String what) {
    return broken("the value ends within " + what);
  }

  private BadRecordException broken(String what) {
    return Detail.malformed("not an Avro body of this schema, at byte " + at + ": " + what);
  }
}
