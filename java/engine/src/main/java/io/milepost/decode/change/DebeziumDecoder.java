package io.milepost.decode.change;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.milepost.decode.json.JsonDocument;
import io.milepost.decode.json.JsonFault;
import io.milepost.decode.json.JsonReader;
import io.milepost.decode.json.JsonStruct;
import io.milepost.decode.json.NameSet;
import io.milepost.decode.text.Detail;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes Debezium's envelope, with or without the {@code {"schema", "payload"}} of Kafka Connect around it: a row is
 * in {@code after} or, if it was deleted, in {@code before} or else in the key of the record.
 */
public final class DebeziumDecoder implements ChangeDecoder {
  /** The placeholder for a value that Postgres did not log because the update left it unchanged. */
  private static final String UNAVAILABLE = "__debezium_unavailable_value";
  private static final String REPLICA_IDENTITY = "; let the database write down old rows"
      + " (Postgres: ALTER TABLE … REPLICA IDENTITY FULL), or the connector the row's key into the record's";

  private final JsonDocument document = new JsonDocument();
  private final NameSet outerNames = new NameSet();
  private final NameSet innerNames = new NameSet();
  private final JsonStruct whole;
  private final JsonStruct partial;
  private final RowKeyColumns rowKey;
  private final int width;

  /** `nullsAreSkipped`: a null leaves the column unchanged, so it can represent a value that did not change. */
  public DebeziumDecoder(StructType columns, RowKeyColumns rowKey, boolean nullsAreSkipped) {
    RowImage.Dialect dialect = (type, usual) -> available(type, usual, nullsAreSkipped);
    this.whole = RowImage.whole(columns, dialect);
    this.partial = RowImage.partial(columns, dialect);
    this.rowKey = rowKey;
    this.width = columns.size();
  }

  @Override
  public List<Change> decode(byte[] key, byte[] value) throws BadRecordException {
    if (value == null) {
      // Debezium's delete precedes it; the tombstone matters where compaction has removed the delete.
      Object[] row = keyImage(key);
      return row == null || rowKey.isMissingIn(row) ? List.of() : List.of(Change.delete(row));
    }
    Envelope envelope = new Envelope();
    document.read(value, parser -> readOuter(parser, envelope));
    return changes(key, envelope);
  }

  private void readOuter(JsonParser parser, Envelope envelope) throws IOException, BadRecordException {
    outerNames.clear();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String name = next(parser, outerNames);
      if (!name.equals("payload")) {
        readField(parser, name, envelope);
      } else if (parser.currentToken() == JsonToken.VALUE_NULL) {
        throw new BadRecordException(Reason.NULL_DOCUMENT, "the payload is null");
      } else if (parser.currentToken() != JsonToken.START_OBJECT) {
        throw JsonFault.found(parser, parser.currentToken(), "STRUCT");
      } else {
        readPayload(parser, envelope);
      }
    }
  }

  private void readPayload(JsonParser parser, Envelope envelope) throws IOException, BadRecordException {
    innerNames.clear();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      readField(parser, next(parser, innerNames), envelope);
    }
  }

  /** The name of the next field, with the parser on its value. */
  private static String next(JsonParser parser, NameSet names) throws IOException, BadRecordException {
    String name = names.addCurrent(parser);
    parser.nextToken();
    return name;
  }

  private void readField(JsonParser parser, String name, Envelope envelope) throws IOException, BadRecordException {
    JsonToken token = parser.currentToken();
    switch (name) {
      case "before" -> envelope.before = image(parser, token, partial);
      case "after" -> envelope.after = image(parser, token, whole);
      case "op" -> envelope.op = JsonFault.word(parser, token);
      default -> {
        envelope.note(name);
        parser.skipChildren();
      }
    }
  }

  private Object[] image(JsonParser parser, JsonToken token, JsonStruct reader) throws IOException, BadRecordException {
    if (token == JsonToken.VALUE_NULL) {
      return null;
    }
    if (token != JsonToken.START_OBJECT) {
      throw JsonFault.found(parser, token, "STRUCT");
    }
    Object[] row = new Object[width];
    reader.readFields(parser, row);
    return row;
  }

  private List<Change> changes(byte[] key, Envelope envelope) throws BadRecordException {
    if (envelope.op == null) {
      if (envelope.isNoChange) {
        return List.of();
      }
      throw Detail.wrongSchema("there is no `op`, so this is not a Debezium envelope; where ExtractNewRecordState has"
          + " taken it off, use format json");
    }
    return switch (envelope.op) {
      case "c", "r" -> List.of(Change.upsert(after(envelope)));
      case "u" -> {
        Object[] row = after(envelope);
        yield envelope.before != null && rowKey.differ(envelope.before, row)
            ? List.of(Change.delete(envelope.before), Change.upsert(row)) : List.of(Change.upsert(row));
      }
      case "d" -> List.of(Change.delete(deleted(key, envelope.before)));
      case "m" -> List.of();
      case "t" -> throw new BadRecordException(Reason.UNKNOWN_OP,
          "the operation 't' truncates the table; which rows that removes cannot be known here");
      default -> throw new BadRecordException(Reason.UNKNOWN_OP,
          "the operation '" + Detail.printable(envelope.op, Detail.MAX_EXCERPT) + "' is unknown");
    };
  }

  private static Object[] after(Envelope envelope) throws BadRecordException {
    if (envelope.after == null) {
      throw Detail.wrongSchema("`after` is null, and the operation is " + envelope.op);
    }
    return envelope.after;
  }

  private Object[] deleted(byte[] key, Object[] before) throws BadRecordException {
    if (before != null && !rowKey.isMissingIn(before)) {
      return before;
    }
    Object[] row = keyImage(key);
    if (row == null || rowKey.isMissingIn(row)) {
      throw Detail.wrongSchema(
          (before == null ? "`before` is null" : "`before` lacks the row key") + " in a delete" + REPLICA_IDENTITY);
    }
    return row;
  }

  /** The columns that the key of the record has, all others null; null where the key has none of them. */
  private Object[] keyImage(byte[] key) {
    if (key == null) {
      return null;
    }
    Object[] row = new Object[width];
    boolean[] wrapped = new boolean[1];
    try {
      document.read(key, parser -> wrapped[0] = readKeyPayload(parser, row));
      if (!wrapped[0]) {
        document.read(key, parser -> partial.readFields(parser, row));
      }
    } catch (BadRecordException e) {
      return null; // a key in another format is of no use here
    }
    return Arrays.stream(row).allMatch(value -> value == null) ? null : row;
  }

  private boolean readKeyPayload(JsonParser parser, Object[] row) throws IOException, BadRecordException {
    boolean found = false;
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      boolean isPayload = parser.currentName().equals("payload");
      if (parser.nextToken() == JsonToken.START_OBJECT && isPayload) {
        partial.readFields(parser, row);
        found = true;
      } else {
        parser.skipChildren();
      }
    }
    return found;
  }

  private static JsonReader available(DataType type, JsonReader usual, boolean nullsAreSkipped) {
    return (parser, token) -> {
      if (token == JsonToken.VALUE_STRING && parser.getText().equals(UNAVAILABLE)) {
        if (nullsAreSkipped) {
          return null;
        }
        throw JsonFault.unfit(parser, token, type.sql(), "Postgres leaves out what did not change; use nulls: skip");
      }
      return usual.read(parser, token);
    };
  }

  /** The fields read so far. */
  private static final class Envelope {
    private String op;
    private Object[] before;
    private Object[] after;
    /** A heartbeat, a schema change or the end of a transaction: none of them has an op. */
    private boolean isNoChange;

    void note(String name) {
      isNoChange |= name.equals("ts_ms") || name.equals("ddl") || name.equals("status");
    }
  }
}
