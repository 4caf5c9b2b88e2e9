package io.milepost.hbase.read;

import java.io.Serializable;
import java.util.Arrays;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Row keys from `start` (inclusive) to `stop` (exclusive), in HBase's order; as in HBase, an empty `stop` is the end
 * of the table.
 */
record KeyRange(byte[] start, byte[] stop) implements Serializable {
  static final KeyRange ALL = new KeyRange(new byte[0], new byte[0]);

  /** The keys that begin with these bytes. */
  static KeyRange ofPrefix(byte[] prefix) {
    return new KeyRange(prefix, afterPrefix(prefix));
  }

  /** This key only. */
  static KeyRange ofKey(byte[] key) {
    return new KeyRange(key, Arrays.copyOf(key, key.length + 1));
  }

  /** The keys that are in both; null where there are none. */
  KeyRange intersect(KeyRange other) {
    byte[] from = Bytes.compareTo(start, other.start) >= 0 ? start : other.start;
    byte[] to = stop.length == 0 || other.stop.length > 0 && Bytes.compareTo(other.stop, stop) < 0 ? other.stop : stop;
    return to.length == 0 || Bytes.compareTo(from, to) < 0 ? new KeyRange(from, to) : null;
  }

  /** The first key that is greater than every key with this prefix; empty where there is none. */
  static byte[] afterPrefix(byte[] prefix) {
    int length = prefix.length;
    while (length > 0 && prefix[length - 1] == (byte) 0xff) {
      length--;
    }
    byte[] after = Arrays.copyOf(prefix, length);
    if (length > 0) {
      after[length - 1]++;
    }
    return after;
  }

  @Override
  public String toString() {
    return "[" + Bytes.toStringBinary(start) + ", " + (stop.length == 0 ? "end" : Bytes.toStringBinary(stop)) + ")";
  }
}
