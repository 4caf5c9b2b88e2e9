package io.milepost.decode.text;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.Decimal;

/** Converts well-formed JSON number text to exact values; null or a sentinel where it does not fit. */
public final class Numbers {
  /** A decimal of more characters than this fits no DECIMAL, and is not worth the quadratic conversion. */
  private static final int MAX_DECIMAL_CHARS = 1000;
  private static final int MAX_LONG_DIGITS = 18;
  private static final double[] POWERS_OF_TEN = powersOfTen();

  private Numbers() {}

  private static double[] powersOfTen() {
    // Up to 10^22 a double is exact.
    double[] powers = new double[23];
    for (int i = 0; i < powers.length; i++) {
      powers[i] = Double.parseDouble("1e" + i);
    }
    return powers;
  }

  /** Whether the digits (with an optional minus) are within {@code [least, most]}. */
  public static boolean fitsLong(char[] c, int from, int length, long least, long most) {
    boolean negative = c[from] == '-';
    int digits = negative ? length - 1 : length;
    if (digits > 19) {
      return false; // JSON has no leading zeros
    }
    if (digits == 19) {
      BigInteger big = new BigInteger(new String(c, from, length));
      return big.bitLength() < 64 && big.longValue() >= least && big.longValue() <= most;
    }
    long value = toLong(c, from, length);
    return value >= least && value <= most;
  }

  /** The value of digits that {@link #fitsLong fit}; the smallest long survives because of two's complement. */
  public static long toLong(char[] c, int from, int length) {
    boolean negative = c[from] == '-';
    long value = 0;
    for (int i = negative ? from + 1 : from; i < from + length; i++) {
      value = value * 10 + (c[i] - '0');
    }
    return negative ? -value : value;
  }

  /** The nearest double, infinite where there is none. */
  public static double toDouble(char[] c, int from, int length) {
    long mantissa = 0;
    int digits = 0;
    int fraction = 0;
    boolean point = false;
    int i = c[from] == '-' ? from + 1 : from;
    for (; i < from + length; i++) {
      char d = c[i];
      if (d == '.') {
        point = true;
      } else if (d >= '0' && d <= '9') {
        mantissa = mantissa * 10 + (d - '0');
        digits++;
        fraction += point ? 1 : 0;
      } else {
        break;
      }
      if (digits > MAX_LONG_DIGITS) {
        break;
      }
    }
    // One exact operand divided by another rounds once, so the short way is right to the last bit.
    if (i == from + length && mantissa < 1L << 53 && fraction < POWERS_OF_TEN.length) {
      double value = mantissa / POWERS_OF_TEN[fraction];
      return c[from] == '-' ? -value : value;
    }
    return Double.parseDouble(new String(c, from, length));
  }

  /** The exact decimal, or null where digits before or after the point would be lost. */
  public static Decimal toDecimal(char[] c, int from, int length, int precision, int scale) {
    if (length > MAX_DECIMAL_CHARS) {
      return null;
    }
    BigDecimal value;
    try {
      value = new BigDecimal(c, from, length);
    } catch (NumberFormatException e) {
      return null; // an exponent beyond the range of int
    }
    if (value.signum() == 0) {
      return Decimal.apply(BigDecimal.valueOf(0, scale), precision, scale);
    }
    // Compared before it is rescaled: 1e999999999 must not become a gigabyte of zeros.
    if ((long) value.precision() - value.scale() > precision - scale) {
      return null;
    }
    if (value.scale() > scale) {
      value = value.stripTrailingZeros();
      if (value.scale() > scale) {
        return null;
      }
    }
    BigDecimal exact = value.setScale(scale);
    return precision <= MAX_LONG_DIGITS
        ? Decimal.createUnsafe(exact.unscaledValue().longValue(), precision, scale)
        : Decimal.apply(exact, precision, scale);
  }

  /** The decimal of an unscaled integer, or null where it has more digits than {@code precision}. */
  public static Decimal toDecimal(BigInteger unscaled, int precision, int scale) {
    // 38 digits are below 2^127; counting the digits of something huge would be slow.
    if (unscaled.bitLength() > 127) {
      return null;
    }
    BigDecimal value = new BigDecimal(unscaled, scale);
    return value.precision() > precision ? null : Decimal.apply(value, precision, scale);
  }
}
