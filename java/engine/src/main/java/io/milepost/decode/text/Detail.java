package io.milepost.decode.text;

import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;

/** The one-line explanation of a bad record: short, printable, and never the whole payload. */
public final class Detail {
  public static final int MAX_LENGTH = 200;
  public static final int MAX_EXCERPT = 40;
  /** Longer field paths lose their middle, so that the found and the declared type stay visible. */
  static final int MAX_PATH = 100;

  private Detail() {}

  public static BadRecordException malformed(String detail) {
    return new BadRecordException(Reason.MALFORMED, printable(detail, MAX_LENGTH));
  }

  public static BadRecordException wrongSchema(String path, String detail) {
    return new BadRecordException(
        Reason.WRONG_SCHEMA, printable("`" + shortened(path) + "` " + detail, MAX_LENGTH));
  }

  public static BadRecordException wrongSchema(String detail) {
    return new BadRecordException(Reason.WRONG_SCHEMA, printable(detail, MAX_LENGTH));
  }

  public static String shortened(String path) {
    String text = printable(path, Integer.MAX_VALUE);
    if (text.length() <= MAX_PATH) {
      return text;
    }
    return text.substring(0, MAX_PATH / 2) + "…" + text.substring(text.length() - MAX_PATH / 2 + 1);
  }

  /** The text cut to {@code max} characters, with everything that a terminal or a log could misread escaped. */
  public static String printable(String text, int max) {
    StringBuilder out = new StringBuilder(Math.min(text.length(), max) + 8);
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      String piece = isPlain(c) ? String.valueOf(c) : String.format("\\u%04x", (int) c);
      // The budget must leave room for the ellipsis unless this is the last character.
      if (out.length() + piece.length() > (i == text.length() - 1 ? max : max - 1)) {
        return out.append('…').toString();
      }
      out.append(piece);
    }
    return out.toString();
  }

  /** Control, format (bidi) and surrogate characters, and the two separators, are not plain. */
  private static boolean isPlain(char c) {
    if (c < 0x7f) {
      return c >= 0x20;
    }
    return switch (Character.getType(c)) {
      case Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR, Character.UNASSIGNED, Character.PRIVATE_USE -> false;
      default -> true;
    };
  }

  /** The first line of an error's message, or its class where it has none. */
  public static String firstLine(Throwable e) {
    String message = String.valueOf(e.getMessage()).strip();
    return message.lines().findFirst().orElse(e.getClass().getSimpleName());
  }
}
