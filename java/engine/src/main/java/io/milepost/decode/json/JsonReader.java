package io.milepost.decode.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.milepost.record.BadRecordException;
import java.io.IOException;

/** Reads one JSON value of a declared type. */
public interface JsonReader {
  /**
   * Called with the parser on the value's first token, which is never null's; leaves it on the last. Whether null is
   * allowed is the container's matter.
   */
  Object read(JsonParser parser, JsonToken token) throws IOException, BadRecordException;
}
