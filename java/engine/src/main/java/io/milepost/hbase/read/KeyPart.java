package io.milepost.hbase.read;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mapping.NativeCodec;
import io.milepost.hbase.mapping.RowKeyEncoder;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;

/**
 * How the bytes of one row-key column sort: turns a comparison with a value into ranges of bytes, or into null where
 * the bytes do not allow it.
 *
 * <p>Only encodings on which every writer must agree are used: a number written as text, a boolean and a decimal have
 * more than one form that decodes to the same value.
 */
final class KeyPart {
  /** What follows the bytes of the column in the key. */
  private enum End { NOTHING, MARK, SEPARATOR, FIXED }

  private final DataType type;
  private final boolean isWhole;
  private final boolean isFloating;
  private final boolean isText;
  private final boolean isLast;
  private final End end;

  /** `index` of `count` columns. */
  KeyPart(HBaseOptions options, DataType type, int index, int count) {
    boolean isNative = options.encoding() == HBaseOptions.Encoding.NATIVE;
    this.type = type;
    // Under another collation, texts with different bytes can be equal.
    this.isText = type.equals(DataTypes.StringType) || type instanceof BinaryType;
    this.isWhole = isNative && NativeCodec.width(type) > 0 && isInteger(type);
    this.isFloating = isNative && (type instanceof FloatType || type instanceof DoubleType);
    this.isLast = index == count - 1;
    this.end = !isText ? End.FIXED : isLast && (isNative || count == 1) ? End.NOTHING : isNative ? End.MARK : End.SEPARATOR;
  }

  private static boolean isInteger(DataType type) {
    return type.equals(DataTypes.ByteType) || type.equals(DataTypes.ShortType) || type.equals(DataTypes.IntegerType)
        || type.equals(DataTypes.LongType) || type.equals(DataTypes.DateType) || type.equals(DataTypes.TimestampType)
        || type.equals(DataTypes.TimestampNTZType);
  }

  DataType type() {
    return type;
  }

  /** The ranges of `column <operator> value`, the value being of the column's type and not null. */
  List<PartRange> compare(String operator, Object value) {
    if (operator.equals("=") || operator.equals("<=>")) {
      return equal(value);
    }
    if (operator.equals("STARTS_WITH")) {
      return isText ? startingWith(escaped(bytes(value))) : null;
    }
    if (isWhole) {
      return compareWhole(operator, ((Number) value).longValue());
    }
    return isText && end != End.SEPARATOR ? compareText(operator, bytes(value)) : null;
  }

  private List<PartRange> equal(Object value) {
    if (isFloating) {
      double number = ((Number) value).doubleValue();
      // The two zeros are equal, and so are all NaN values, whatever their bytes.
      return number == 0 || Double.isNaN(number) ? null : List.of(point(bytes(value)));
    }
    return isWhole || isText ? List.of(point(ended(bytes(value)))) : null;
  }

  private PartRange point(byte[] bytes) {
    // The last text of a key has no end mark, so a longer one begins with the same bytes.
    byte[] after = isText && isLast ? Arrays.copyOf(bytes, bytes.length + 1) : orNone(KeyRange.afterPrefix(bytes));
    return new PartRange(bytes, after, true);
  }

  private static List<PartRange> startingWith(byte[] prefix) {
    return List.of(new PartRange(prefix, orNone(KeyRange.afterPrefix(prefix)), false));
  }

  /** Encoded text sorts as the text does, also when it is escaped and terminated by a mark. */
  private List<PartRange> compareText(String operator, byte[] value) {
    PartRange point = point(ended(value));
    return switch (operator) {
      case ">=" -> List.of(new PartRange(point.low(), null, false));
      case ">" -> List.of(new PartRange(point.high(), null, false));
      case "<" -> List.of(new PartRange(new byte[0], point.low(), false));
      case "<=" -> List.of(new PartRange(new byte[0], point.high(), false));
      default -> null;
    };
  }

  /** Two's complement sorts negative numbers after the others, so a range of numbers can be two ranges of bytes. */
  private List<PartRange> compareWhole(String operator, long value) {
    int bits = 8 * NativeCodec.width(type);
    long least = bits == Long.SIZE ? Long.MIN_VALUE : -(1L << bits - 1);
    long most = -(least + 1);
    return switch (operator) {
      case ">=" -> between(value, most);
      case ">" -> value == most ? List.of() : between(value + 1, most);
      case "<=" -> between(least, value);
      case "<" -> value == least ? List.of() : between(least, value - 1);
      default -> null;
    };
  }

  private List<PartRange> between(long first, long last) {
    List<PartRange> negative = first < 0 ? List.of(wholes(first, Math.min(last, -1))) : List.of();
    List<PartRange> others = last >= 0 ? List.of(wholes(Math.max(first, 0), last)) : List.of();
    return PartRange.union(others, negative);
  }

  private PartRange wholes(long first, long last) {
    return new PartRange(wholeBytes(first), orNone(KeyRange.afterPrefix(wholeBytes(last))), first == last);
  }

  private byte[] wholeBytes(long value) {
    int width = NativeCodec.width(type);
    return Arrays.copyOfRange(Bytes.toBytes(value), Long.BYTES - width, Long.BYTES);
  }

  private byte[] bytes(Object value) {
    return NativeCodec.encoder(type, 0).encode(new GenericInternalRow(new Object[] {value}));
  }

  private byte[] ended(byte[] bytes) {
    byte[] escaped = escaped(bytes);
    return switch (end) {
      case NOTHING, FIXED -> escaped;
      case MARK -> Bytes.add(escaped, new byte[] {0, RowKeyEncoder.END});
      case SEPARATOR -> isLast ? escaped : Bytes.add(escaped, new byte[] {RowKeyEncoder.SEPARATOR});
    };
  }

  /** Escapes as {@link RowKeyEncoder} does, without the end mark. */
  private byte[] escaped(byte[] bytes) {
    ByteArrayOutputStream out = new ByteArrayOutputStream(bytes.length + 8);
    for (byte b : bytes) {
      if (end == End.SEPARATOR && (b == RowKeyEncoder.SEPARATOR || b == RowKeyEncoder.ESCAPE)) {
        out.write(RowKeyEncoder.ESCAPE);
      }
      out.write(b);
      if (end == End.MARK && b == 0) {
        out.write(RowKeyEncoder.ESCAPED_ZERO);
      }
    }
    return out.toByteArray();
  }

  private static byte[] orNone(byte[] after) {
    return after.length == 0 ? null : after;
  }
}
