package io.milepost.decode.text;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF, in either direction. */
public final class Utf8 {
  private static final VarHandle EIGHT =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
  private static final long HIGH_BITS = 0x8080808080808080L;

  private Utf8() {}

  /** The index of the first byte that cannot be UTF-8, or -1 where all are fine. */
  public static int firstInvalid(byte[] bytes, int from, int to) {
    int i = from;
    while (i < to) {
      if (i + 8 <= to && ((long) EIGHT.get(bytes, i) & HIGH_BITS) == 0) {
        i += 8;
      } else if (bytes[i] >= 0) {
        i++;
      } else {
        int length = sequenceLength(bytes, i, to);
        if (length == 0) {
          return i;
        }
        i += length;
      }
    }
    return -1;
  }

  /** The length of the multi-byte sequence at {@code i}, or 0 where it is none. */
  private static int sequenceLength(byte[] bytes, int i, int to) {
    int lead = bytes[i] & 0xff;
    int length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length == 0 || i + length > to) {
      return 0;
    }
    // The second byte alone decides about overlong forms, surrogates and the upper end of Unicode.
    int second = bytes[i + 1] & 0xff;
    int least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    int most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) {
      return 0;
    }
    for (int k = 2; k < length; k++) {
      if ((bytes[i + k] & 0xc0) != 0x80) {
        return 0;
      }
    }
    return length;
  }

  /** The characters as UTF-8, or null where a surrogate stands alone. */
  public static byte[] encode(char[] chars, int from, int length) {
    byte[] out = new byte[length];
    for (int i = 0; i < length; i++) {
      char c = chars[from + i];
      if (c >= 0x80) {
        return encodeWide(chars, from, length, i, out);
      }
      out[i] = (byte) c;
    }
    return out;
  }

  public static byte[] encode(String text) {
    return encode(text.toCharArray(), 0, text.length());
  }

  private static byte[] encodeWide(char[] chars, int from, int length, int done, byte[] ascii) {
    byte[] out = Arrays.copyOf(ascii, Math.toIntExact(done + 3L * (length - done)));
    int n = done;
    for (int i = from + done; i < from + length; i++) {
      char c = chars[i];
      if (c < 0x80) {
        out[n++] = (byte) c;
      } else if (c < 0x800) {
        out[n++] = (byte) (0xc0 | c >> 6);
        out[n++] = (byte) (0x80 | c & 0x3f);
      } else if (!Character.isSurrogate(c)) {
        out[n++] = (byte) (0xe0 | c >> 12);
        out[n++] = (byte) (0x80 | c >> 6 & 0x3f);
        out[n++] = (byte) (0x80 | c & 0x3f);
      } else {
        if (!Character.isHighSurrogate(c) || i + 1 >= from + length || !Character.isLowSurrogate(chars[i + 1])) {
          return null;
        }
        int point = Character.toCodePoint(c, chars[++i]);
        out[n++] = (byte) (0xf0 | point >> 18);
        out[n++] = (byte) (0x80 | point >> 12 & 0x3f);
        out[n++] = (byte) (0x80 | point >> 6 & 0x3f);
        out[n++] = (byte) (0x80 | point & 0x3f);
      }
    }
    return Arrays.copyOf(out, n);
  }
}
