package io.milepost.hbase.mapping;

import io.milepost.hbase.client.HBaseOptions;
import java.io.ByteArrayOutputStream;
import java.util.List;

/** Splits a row key into its columns: the inverse of {@link RowKeyEncoder}. Not thread safe. */
public final class RowKeyDecoder {
  private final List<Mapping.KeyColumn> columns;
  private final ValueDecoder[] decoders;
  private final boolean text;
  private final int start;

  public RowKeyDecoder(HBaseOptions options, List<Mapping.KeyColumn> columns) {
    this.columns = columns;
    text = options.encoding() != HBaseOptions.Encoding.NATIVE;
    start = options.salt() == 0 ? 0 : 1;
    decoders = new ValueDecoder[columns.size()];
    for (int i = 0; i < decoders.length; i++) {
      decoders[i] = text ? TextCodec.decoder(columns.get(i).type(), options.timeZone())
          : NativeCodec.decoder(columns.get(i).type());
    }
  }

  /**
   * Stores each key column at its ordinal in `row`; throws IllegalArgumentException with a clause that describes the
   * fault.
   */
  public void decode(byte[] key, Object[] row) {
    int from = start;
    for (int i = 0; i < decoders.length; i++) {
      int length;
      byte[] part = key;
      int next;
      if (decoders.length == 1 || !text && i == decoders.length - 1) {
        length = key.length - from;
        next = key.length;
      } else if (!text && !NativeCodec.isVariable(columns.get(i).type())) {
        length = Math.min(NativeCodec.width(columns.get(i).type()), key.length - from);
        next = from + length;
      } else if (from > key.length) {
        throw new IllegalArgumentException("the row key has fewer parts than the " + decoders.length + " columns of row-key");
      } else {
        ByteArrayOutputStream plain = new ByteArrayOutputStream();
        next = text ? readText(key, from, plain) : readMarked(key, from, plain, i);
        part = plain.toByteArray();
        length = part.length;
        from = 0;
      }
      row[columns.get(i).ordinal()] = value(i, part, from, length);
      from = next;
    }
    if (from < key.length) {
      throw new IllegalArgumentException("the row key has more parts than the " + decoders.length + " columns of row-key");
    }
  }

  private Object value(int i, byte[] part, int from, int length) {
    try {
      return decoders[i].decode(part, from, length);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("row-key column '" + columns.get(i).name() + "': " + e.getMessage(), e);
    }
  }

  private int readMarked(byte[] key, int from, ByteArrayOutputStream plain, int i) {
    int at = from;
    while (at + 1 < key.length) {
      if (key[at] != 0) {
        plain.write(key[at++]);
      } else if (key[at + 1] == RowKeyEncoder.ESCAPED_ZERO) {
        plain.write(0);
        at += 2;
      } else if (key[at + 1] == RowKeyEncoder.END) {
        return at + 2;
      } else {
        break;
      }
    }
    throw new IllegalArgumentException("row-key column '" + columns.get(i).name() + "' has no end mark");
  }

  private static int readText(byte[] key, int from, ByteArrayOutputStream plain) {
    int at = from;
    while (at < key.length && key[at] != RowKeyEncoder.SEPARATOR) {
      if (key[at] == RowKeyEncoder.ESCAPE && at + 1 < key.length) {
        at++;
      }
      plain.write(key[at++]);
    }
    return at + 1;
  }
}
