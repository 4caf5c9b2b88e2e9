package io.milepost.decode.text;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZonedDateTime;

/**
 * ISO-8601 dates and times, parsed strictly: four-digit years 0001 to 9999, no leap second, no hour 24. Digits of a
 * second beyond the sixth are truncated, as in Spark, because a Catalyst timestamp has microseconds.
 */
public final class IsoTime {
  /** The result for a text that is not such a time; no valid time is near it. */
  public static final long NONE = Long.MIN_VALUE;

  static final long MIN_DAY = -719162;
  static final long MAX_DAY = 2932896;
  private static final long MICROS_PER_SECOND = 1_000_000L;
  private static final long MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND;
  private static final long MIN_MICROS = MIN_DAY * MICROS_PER_DAY;
  private static final long MAX_MICROS = (MAX_DAY + 1) * MICROS_PER_DAY - 1;
  private static final int MAX_OFFSET_MINUTES = 18 * 60;
  private static final int DATE_LENGTH = 10;

  private IsoTime() {}

  public static long daysOf(char[] c, int from, int length) {
    return length == DATE_LENGTH ? days(c, from) : NONE;
  }

  public static boolean isDay(long day) {
    return day >= MIN_DAY && day <= MAX_DAY;
  }

  public static boolean isMicros(long micros) {
    return micros >= MIN_MICROS && micros <= MAX_MICROS;
  }

  public static long microsOfMillis(long millis) {
    boolean fits = millis >= MIN_MICROS / 1000 && millis <= MAX_MICROS / 1000;
    return fits ? millis * 1000 : NONE;
  }

  /** Microseconds of a local time: 2026-01-31T12:34[:56[.789]]. */
  public static long localMicros(char[] c, int from, int length) {
    int end = from + length;
    int timeEnd = timeEnd(c, from, end);
    return timeEnd == end ? local(c, from, timeEnd) : NONE;
  }

  /** Microseconds since the epoch of a local time followed by Z, +01, +0100, +01:00 or +01:00[Europe/Berlin]. */
  public static long instantMicros(char[] c, int from, int length) {
    int end = from + length;
    int timeEnd = timeEnd(c, from, end);
    if (timeEnd < 0 || timeEnd == end) {
      return NONE;
    }
    if (c[end - 1] == ']') {
      return withRegion(new String(c, from, length));
    }
    long local = local(c, from, timeEnd);
    int offset = offsetMinutes(c, timeEnd, end);
    if (local == NONE || offset > MAX_OFFSET_MINUTES) {
      return NONE;
    }
    long micros = local - offset * 60 * MICROS_PER_SECOND;
    return isMicros(micros) ? micros : NONE;
  }

  /** Where the time of day ends and a zone would begin, or -1 where even hours and minutes are not there. */
  private static int timeEnd(char[] c, int from, int end) {
    int i = from + DATE_LENGTH + 6;
    if (end < i) {
      return -1;
    }
    while (i < end && (c[i] >= '0' && c[i] <= '9' || c[i] == ':' || c[i] == '.')) {
      i++;
    }
    return i;
  }

  private static long local(char[] c, int from, int end) {
    long day = days(c, from);
    char separator = c[from + DATE_LENGTH];
    int time = from + DATE_LENGTH + 1;
    if (day == NONE || separator != 'T' && separator != ' ' || c[time + 2] != ':') {
      return NONE;
    }
    int hour = digits(c, time, 2);
    int minute = digits(c, time + 3, 2);
    long rest = end == time + 5 ? 0 : secondMicros(c, time + 5, end);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || rest == NONE) {
      return NONE;
    }
    return day * MICROS_PER_DAY + (hour * 60 + minute) * 60 * MICROS_PER_SECOND + rest;
  }

  /** The part {@code :56[.789]}. */
  private static long secondMicros(char[] c, int from, int end) {
    int second = end >= from + 3 && c[from] == ':' ? digits(c, from + 1, 2) : -1;
    if (second < 0 || second > 59) {
      return NONE;
    }
    int i = from + 3;
    if (i == end) {
      return second * MICROS_PER_SECOND;
    }
    int count = end - i - 1;
    if (c[i] != '.' || count < 1 || count > 9 || digits(c, i + 1, count) < 0) {
      return NONE;
    }
    long micros = digits(c, i + 1, Math.min(count, 6));
    for (int k = count; k < 6; k++) {
      micros *= 10;
    }
    return second * MICROS_PER_SECOND + micros;
  }

  /** Minutes east of Greenwich, or Integer.MAX_VALUE where it is not an offset. */
  private static int offsetMinutes(char[] c, int from, int end) {
    int length = end - from;
    if (length == 1 && c[from] == 'Z') {
      return 0;
    }
    boolean colon = length == 6 && c[from + 3] == ':';
    if (c[from] != '+' && c[from] != '-' || length != 3 && length != 5 && !colon) {
      return Integer.MAX_VALUE;
    }
    int hours = digits(c, from + 1, 2);
    int minutes = length == 3 ? 0 : digits(c, end - 2, 2);
    int total = hours * 60 + minutes;
    if (hours < 0 || minutes < 0 || minutes > 59 || total > MAX_OFFSET_MINUTES) {
      return Integer.MAX_VALUE;
    }
    return c[from] == '-' ? -total : total;
  }

  /** Rare enough to leave to the library, which knows the regions. */
  private static long withRegion(String text) {
    try {
      Instant instant = ZonedDateTime.parse(text).toInstant();
      long micros = Math.addExact(
          Math.multiplyExact(instant.getEpochSecond(), MICROS_PER_SECOND), instant.getNano() / 1000);
      return isMicros(micros) ? micros : NONE;
    } catch (DateTimeException | ArithmeticException e) {
      return NONE;
    }
  }

  private static long days(char[] c, int from) {
    int year = digits(c, from, 4);
    int month = digits(c, from + 5, 2);
    int day = digits(c, from + 8, 2);
    if (c[from + 4] != '-' || c[from + 7] != '-' || year < 1 || month < 1 || month > 12 || day < 1) {
      return NONE;
    }
    boolean leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    int monthLength = month == 2 ? leap ? 29 : 28 : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
    if (day > monthLength) {
      return NONE;
    }
    // Years are counted from March, so that the leap day is the last of its year.
    int years = month > 2 ? year : year - 1;
    int sinceMarch = (month + 9) % 12;
    int dayOfYear = (153 * sinceMarch + 2) / 5 + day - 1;
    return 365L * years + years / 4 - years / 100 + years / 400 + dayOfYear - 719468;
  }

  /** The number of {@code count} digits, or -1 where one is not a digit. */
  private static int digits(char[] c, int from, int count) {
    int value = 0;
    for (int i = from; i < from + count; i++) {
      int digit = c[i] - '0';
      if (digit < 0 || digit > 9) {
        return -1;
      }
      value = value * 10 + digit;
    }
    return value;
  }
}
