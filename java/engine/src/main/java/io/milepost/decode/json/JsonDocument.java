package io.milepost.decode.json;

import com.fasterxml.jackson.core.ErrorReportConfiguration;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import io.milepost.decode.text.Detail;
import io.milepost.decode.text.Utf8;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.io.IOException;

/**
 * Parses bytes that must be exactly one JSON object. Invalid JSON is MALFORMED, wherever the fault is; valid JSON
 * that is not an object is WRONG_SCHEMA.
 */
public final class JsonDocument {
  static final int MAX_NESTING = 1000;

  private final JsonFactory factory = newFactory();

  /** Reads the fields of the object; called with the parser on its start, leaves it on its end. */
  public interface Body {
    void read(JsonParser parser) throws IOException, BadRecordException;
  }

  private static JsonFactory newFactory() {
    // Only the nesting needs a limit: everything else is bounded by the record, which is already in memory.
    StreamReadConstraints constraints = StreamReadConstraints.builder()
        .maxNestingDepth(MAX_NESTING)
        .maxNumberLength(Integer.MAX_VALUE)
        .maxStringLength(Integer.MAX_VALUE)
        .maxNameLength(Integer.MAX_VALUE)
        .build();
    return JsonFactory.builder()
        .streamReadConstraints(constraints)
        .errorReportConfiguration(
            ErrorReportConfiguration.builder().maxErrorTokenLength(Detail.MAX_EXCERPT).build())
        .recyclerPool(JsonRecyclerPools.threadLocalPool())
        // Names of a map are data: interning them would fill the JVM's string table.
        .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
        .build();
  }

  public void read(byte[] value, Body body) throws BadRecordException {
    if (value.length == 0) {
      throw new BadRecordException(Reason.EMPTY_VALUE, "the value has no bytes, where JSON was expected");
    }
    checkEncoding(value);
    try (JsonParser parser = factory.createParser(value)) {
      read(parser, body);
    } catch (JsonProcessingException e) {
      throw malformed(e);
    } catch (IOException | RuntimeException e) {
      // The bytes are data: whatever they make the parser do must not stop the stream with a stack trace.
      throw Detail.malformed("the JSON parser gave up: " + e);
    }
  }

  private static void read(JsonParser parser, Body body) throws IOException, BadRecordException {
    JsonToken first = parser.nextToken();
    if (first == null) {
      throw Detail.malformed("the value is only white space, where JSON was expected");
    }
    try {
      if (first == JsonToken.VALUE_NULL) {
        throw new BadRecordException(Reason.NULL_DOCUMENT, "the document is the literal null");
      }
      if (first != JsonToken.START_OBJECT) {
        throw Detail.wrongSchema("an object was expected, found " + JsonFault.kind(first));
      }
      body.read(parser);
    } catch (BadRecordException e) {
      // Whether the rest is JSON decides between MALFORMED and the fault just found.
      if (e.reason() != Reason.MALFORMED) {
        skipDocument(parser);
        checkEnd(parser);
      }
      throw e;
    }
    checkEnd(parser);
  }

  private static void skipDocument(JsonParser parser) throws IOException {
    while (!parser.getParsingContext().inRoot()) {
      parser.nextToken();
    }
  }

  private static void checkEnd(JsonParser parser) throws IOException, BadRecordException {
    if (parser.nextToken() != null) {
      throw Detail.malformed("there is more after the end of the document");
    }
  }

  /** The parser would guess UTF-16 and UTF-32, and replace or accept invalid UTF-8. */
  private static void checkEncoding(byte[] value) throws BadRecordException {
    int bad = Utf8.firstInvalid(value, 0, value.length);
    if (bad >= 0) {
      throw Detail.malformed("not UTF-8 at byte " + bad);
    }
    if (value.length >= 3 && value[0] == (byte) 0xef && value[1] == (byte) 0xbb && value[2] == (byte) 0xbf) {
      throw Detail.malformed("the value begins with a byte order mark, which JSON does not allow");
    }
    for (int i = 0; i < Math.min(4, value.length); i++) {
      if (value[i] == 0) {
        throw Detail.malformed("a zero byte at byte " + i + ": UTF-16 or UTF-32, or no text at all");
      }
    }
  }

  private static BadRecordException malformed(JsonProcessingException e) {
    String where = e.getLocation() == null ? "" : " at byte " + e.getLocation().getByteOffset();
    return Detail.malformed("not JSON" + where + ": " + e.getOriginalMessage());
  }
}
