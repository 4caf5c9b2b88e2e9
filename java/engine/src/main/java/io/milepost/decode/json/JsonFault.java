package io.milepost.decode.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.JsonToken;
import io.milepost.decode.text.Detail;
import io.milepost.record.BadRecordException;
import java.io.IOException;

/** Describes which field is wrong and how; the path is taken from the parser only when it is needed. */
public final class JsonFault {
  private JsonFault() {}

  /** The current value has another JSON type than the declared one. */
  public static BadRecordException found(JsonParser parser, JsonToken token, String declared) {
    return Detail.wrongSchema(path(parser, token), "is declared " + declared + ", found " + kind(token));
  }

  /** The current scalar has the right JSON type but does not fit; the message shows an excerpt. */
  public static BadRecordException unfit(JsonParser parser, JsonToken token, String declared, String why) throws IOException {
    String text = Detail.printable(parser.getText(), Detail.MAX_EXCERPT);
    String shown = token == JsonToken.VALUE_STRING ? '"' + text + '"' : text;
    return Detail.wrongSchema(path(parser, token), "is declared " + declared + ", found " + shown + ": " + why);
  }

  static BadRecordException isNull(JsonParser parser, String declared) {
    return Detail.wrongSchema(path(parser, JsonToken.VALUE_NULL), "is declared " + declared + " NOT NULL, found null");
  }

  /** A field was missing when its object ended. */
  static BadRecordException missing(JsonParser parser, String name, String declared) {
    String within = path(parser, JsonToken.END_OBJECT);
    return Detail.wrongSchema(
        within.isEmpty() ? name : within + '.' + name, "is declared " + declared + " NOT NULL, and is missing");
  }

  static BadRecordException duplicate(JsonParser parser) {
    return Detail.malformed(
        "the key `" + Detail.shortened(path(parser, JsonToken.FIELD_NAME)) + "` occurs twice in one object");
  }

  static BadRecordException loneSurrogate(JsonParser parser) {
    return Detail.malformed("`" + Detail.shortened(path(parser, JsonToken.VALUE_STRING))
        + "` has half of a surrogate pair, which is not a character");
  }

  /** The text that is the current value, or what it is instead; the parser is left on the value's end. */
  public static String word(JsonParser parser, JsonToken token) throws IOException {
    String word = token == JsonToken.VALUE_STRING ? parser.getText() : kind(token);
    parser.skipChildren();
    return word;
  }

  static String kind(JsonToken token) {
    return switch (token) {
      case START_OBJECT -> "an object";
      case START_ARRAY -> "an array";
      case VALUE_STRING -> "a string";
      case VALUE_NUMBER_INT -> "an integer";
      case VALUE_NUMBER_FLOAT -> "a number with a fraction or an exponent";
      case VALUE_TRUE, VALUE_FALSE -> "a boolean";
      default -> "null";
    };
  }

  private static String path(JsonParser parser, JsonToken token) {
    JsonStreamContext context = parser.getParsingContext();
    // At the start of an object or array the parser is already inside it.
    if (token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY) {
      context = context.getParent();
    }
    StringBuilder path = new StringBuilder();
    prepend(context, path);
    return path.toString();
  }

  private static void prepend(JsonStreamContext last, StringBuilder path) {
    for (JsonStreamContext context = last; context != null && !context.inRoot(); context = context.getParent()) {
      String dot = path.length() > 0 && path.charAt(0) != '[' ? "." : "";
      path.insert(0, (context.inArray() ? "[" + context.getCurrentIndex() + "]" : context.getCurrentName()) + dot);
    }
  }
}
