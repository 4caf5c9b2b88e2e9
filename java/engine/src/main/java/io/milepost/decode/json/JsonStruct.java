package io.milepost.decode.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.SerializedString;
import io.milepost.record.BadRecordException;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;

/**
 * Reads an object into the declared fields. It has a single scratch space: types do not recurse, so a node of the
 * type is never read within itself.
 */
public final class JsonStruct implements JsonReader {
  private static final int END = -1;
  private static final int UNDECLARED = -2;

  private final SerializedString[] names;
  private final String[] declared;
  private final JsonReader[] readers;
  private final boolean[] required;
  private final int requiredCount;
  private final Map<String, Integer> indexes = new HashMap<>();
  /** The object in which a field was last seen; avoids clearing a set for every object. */
  private final long[] seenIn;
  private final NameSet undeclared = new NameSet();
  private long object;

  public JsonStruct(StructField[] fields, JsonReader[] readers) {
    this.readers = readers;
    names = new SerializedString[fields.length];
    declared = new String[fields.length];
    required = new boolean[fields.length];
    seenIn = new long[fields.length];
    int count = 0;
    for (int i = 0; i < fields.length; i++) {
      names[i] = new SerializedString(fields[i].name());
      declared[i] = fields[i].dataType().sql();
      required[i] = !fields[i].nullable();
      count += required[i] ? 1 : 0;
      if (indexes.put(fields[i].name(), i) != null) {
        throw new IllegalArgumentException("schema: the field `" + fields[i].name() + "` is declared twice in one STRUCT.");
      }
    }
    requiredCount = count;
  }

  @Override
  public Object read(JsonParser parser, JsonToken token) throws IOException, BadRecordException {
    if (token != JsonToken.START_OBJECT) {
      throw JsonFault.found(parser, token, "STRUCT");
    }
    Object[] values = new Object[names.length];
    readFields(parser, values);
    return new GenericInternalRow(values);
  }

  /** Fills the first entries of {@code out}, one per field; the parser is on the start of the object. */
  public void readFields(JsonParser parser, Object[] out) throws IOException, BadRecordException {
    object++;
    undeclared.clear();
    int missing = requiredCount;
    for (int i = 0; i < names.length; i++) {
      out[i] = null;
    }
    // Producers mostly write the fields in one order, so the next declared one is compared byte for byte first.
    int expected = 0;
    while (true) {
      int field = nextField(parser, expected);
      if (field == END) {
        break;
      }
      if (field == UNDECLARED) {
        parser.nextToken();
        parser.skipChildren();
        continue;
      }
      if (seenIn[field] == object) {
        throw JsonFault.duplicate(parser);
      }
      seenIn[field] = object;
      missing -= required[field] ? 1 : 0;
      JsonToken token = parser.nextToken();
      if (token != JsonToken.VALUE_NULL) {
        out[field] = readers[field].read(parser, token);
      } else if (required[field]) {
        throw JsonFault.isNull(parser, declared[field]);
      }
      expected = field + 1;
    }
    if (missing > 0) {
      throw firstMissing(parser);
    }
  }

  /** Whether the last object has this field, even if it is null. */
  public boolean saw(int field) {
    return seenIn[field] == object;
  }

  private int nextField(JsonParser parser, int expected) throws IOException, BadRecordException {
    JsonToken token;
    if (expected < names.length) {
      if (parser.nextFieldName(names[expected])) {
        return expected;
      }
      token = parser.currentToken();
    } else {
      token = parser.nextToken();
    }
    if (token == JsonToken.END_OBJECT) {
      return END;
    }
    String name = parser.currentName();
    Integer index = indexes.get(name);
    if (index != null) {
      return index;
    }
    if (!undeclared.add(name)) {
      throw JsonFault.duplicate(parser);
    }
    return UNDECLARED;
  }

  private BadRecordException firstMissing(JsonParser parser) {
    int i = 0;
    while (!required[i] || seenIn[i] == object) {
      i++;
    }
    return JsonFault.missing(parser, names[i].getValue(), declared[i]);
  }
}
