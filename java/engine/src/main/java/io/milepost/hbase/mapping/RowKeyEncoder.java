package io.milepost.hbase.mapping;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.hbase.HConstants;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/** Encodes the row key of a row. Rows that differ in a key column never share a row key. Not thread safe. */
public final class RowKeyEncoder {
  public static final byte ESCAPED_ZERO = (byte) 0xFF;
  public static final byte END = 0x01;
  public static final byte SEPARATOR = '|';
  public static final byte ESCAPE = '\\';

  private final String[] names;
  private final int[] ordinals;
  private final ValueEncoder[] encoders;
  /** Native only: the parts that are escaped and terminated because another part follows. */
  private final boolean[] marked;
  private final boolean text;
  private final int salt;

  private byte[] buffer = new byte[256];
  private int length;

  public RowKeyEncoder(HBaseOptions options, List<Mapping.KeyColumn> columns) {
    int parts = columns.size();
    text = options.encoding() != HBaseOptions.Encoding.NATIVE;
    salt = options.salt();
    names = new String[parts];
    ordinals = new int[parts];
    encoders = new ValueEncoder[parts];
    marked = new boolean[parts];
    for (int i = 0; i < parts; i++) {
      Mapping.KeyColumn column = columns.get(i);
      names[i] = column.name();
      ordinals[i] = column.ordinal();
      encoders[i] = text ? TextCodec.encoder(column.type(), column.ordinal(), options.timeZone())
          : NativeCodec.encoder(column.type(), column.ordinal());
      marked[i] = i < parts - 1 && NativeCodec.isVariable(column.type());
    }
  }

  public byte[] encode(InternalRow row) throws BadRecordException {
    byte[] first = part(row, 0);
    if (encoders.length == 1 && salt == 0) {
      return checked(first, first.length);
    }
    int start = salt == 0 ? 0 : 1;
    length = start;
    append(0, first);
    for (int i = 1; i < encoders.length; i++) {
      append(i, part(row, i));
    }
    if (salt > 0) {
      buffer[0] = bucket(buffer, start, length - start, salt);
    }
    return checked(Arrays.copyOf(buffer, length), length - start);
  }

  private void append(int i, byte[] part) throws BadRecordException {
    // A part can be as long as a record. Its key is refused anyway, so stop before the buffer grows to that size.
    if (part.length > HConstants.MAX_ROW_LENGTH) {
      throw tooLong(part.length);
    }
    ensure(2 * part.length + 2);
    if (encoders.length == 1 || !text && !marked[i]) {
      System.arraycopy(part, 0, buffer, length, part.length);
      length += part.length;
    } else if (text) {
      escapeText(part, i > 0);
    } else {
      escapeZeros(part);
    }
  }

  /** The salt of a key. It depends on the key alone and must never change. */
  public static byte bucket(byte[] bytes, int from, int count, int buckets) {
    int hash = Murmur3_x86_32.hashUnsafeBytes2(bytes, Platform.BYTE_ARRAY_OFFSET + (long) from, count, 0);
    return (byte) Math.floorMod(hash, buckets);
  }

  private byte[] part(InternalRow row, int i) throws BadRecordException {
    if (row.isNullAt(ordinals[i])) {
      throw new BadRecordException(Reason.BAD_ROW_KEY, "row-key column '" + names[i] + "' is null");
    }
    return encoders[i].encode(row);
  }

  private byte[] checked(byte[] key, int unsalted) throws BadRecordException {
    if (unsalted == 0) {
      throw new BadRecordException(Reason.BAD_ROW_KEY, "the row key is empty");
    }
    if (key.length > HConstants.MAX_ROW_LENGTH) {
      throw tooLong(key.length);
    }
    return key;
  }

  private static BadRecordException tooLong(int bytes) {
    return new BadRecordException(Reason.BAD_ROW_KEY,
        "the row key has " + bytes + " bytes and HBase takes " + HConstants.MAX_ROW_LENGTH);
  }

  private void escapeZeros(byte[] part) {
    for (byte b : part) {
      buffer[length++] = b;
      if (b == 0) {
        buffer[length++] = ESCAPED_ZERO;
      }
    }
    buffer[length++] = 0;
    buffer[length++] = END;
  }

  private void escapeText(byte[] part, boolean separated) {
    if (separated) {
      buffer[length++] = SEPARATOR;
    }
    for (byte b : part) {
      if (b == SEPARATOR || b == ESCAPE) {
        buffer[length++] = ESCAPE;
      }
      buffer[length++] = b;
    }
  }

  private void ensure(int more) {
    if (buffer.length < length + more) {
      buffer = Arrays.copyOf(buffer, Math.max(2 * buffer.length, length + more));
    }
  }
}
