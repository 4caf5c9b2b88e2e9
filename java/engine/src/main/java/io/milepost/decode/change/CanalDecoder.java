package io.milepost.decode.change;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.milepost.decode.json.JsonDocument;
import io.milepost.decode.json.JsonFault;
import io.milepost.decode.json.JsonStruct;
import io.milepost.decode.json.NameSet;
import io.milepost.decode.text.Detail;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes Canal's flat message: the rows of one statement in {@code data}, and in {@code old} what an update changed
 * in each. All rows of a message have one version, so an old row key is deleted only where no row of the message has
 * it.
 */
public final class CanalDecoder implements ChangeDecoder {
  private static final Set<String> NO_CHANGE =
      Set.of("CREATE", "ALTER", "RENAME", "CINDEX", "DINDEX", "QUERY", "TIDB_WATERMARK");
  private static final Set<String> ALL_ROWS = Set.of("TRUNCATE", "ERASE");

  private final JsonDocument document = new JsonDocument();
  private final NameSet names = new NameSet();
  private final JsonStruct whole;
  private final JsonStruct partial;
  private final RowKeyColumns rowKey;
  private final int width;

  public CanalDecoder(StructType columns, RowKeyColumns rowKey) {
    RowImage.Dialect dialect = (type, usual) -> RowImage.isBinary(type) ? RowImage::readLatin1 : usual;
    this.whole = RowImage.whole(columns, dialect);
    this.partial = RowImage.partial(columns, dialect);
    this.rowKey = rowKey;
    this.width = columns.size();
  }

  @Override
  public List<Change> decode(byte[] key, byte[] value) throws BadRecordException {
    if (value == null) {
      return List.of(); // Canal writes none
    }
    Message message = new Message();
    document.read(value, parser -> read(parser, message));
    return changes(message);
  }

  private void read(JsonParser parser, Message message) throws IOException, BadRecordException {
    names.clear();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String name = names.addCurrent(parser);
      JsonToken token = parser.nextToken();
      switch (name) {
        case "data" -> message.data = rows(parser, token, this::row);
        case "old" -> message.old = rows(parser, token, this::oldRow);
        case "type" -> message.type = JsonFault.word(parser, token);
        default -> parser.skipChildren();
      }
    }
  }

  private <T> List<T> rows(JsonParser parser, JsonToken first, RowReader<T> reader)
      throws IOException, BadRecordException {
    if (first == JsonToken.VALUE_NULL) {
      return List.of();
    }
    if (first != JsonToken.START_ARRAY) {
      throw JsonFault.found(parser, first, "ARRAY");
    }
    List<T> rows = new ArrayList<>();
    JsonToken token;
    while ((token = parser.nextToken()) != JsonToken.END_ARRAY) {
      if (token != JsonToken.START_OBJECT) {
        throw JsonFault.found(parser, token, "STRUCT");
      }
      rows.add(reader.read(parser));
    }
    return rows;
  }

  private Object[] row(JsonParser parser) throws IOException, BadRecordException {
    Object[] row = new Object[width];
    whole.readFields(parser, row);
    return row;
  }

  private OldRow oldRow(JsonParser parser) throws IOException, BadRecordException {
    Object[] row = new Object[width];
    partial.readFields(parser, row);
    boolean[] present = new boolean[width];
    for (int i = 0; i < width; i++) {
      present[i] = partial.saw(i);
    }
    return new OldRow(row, present);
  }

  private List<Change> changes(Message message) throws BadRecordException {
    if (message.type == null) {
      throw Detail.wrongSchema("there is no `type`, so this is not a Canal message");
    }
    if (NO_CHANGE.contains(message.type)) {
      return List.of();
    }
    if (ALL_ROWS.contains(message.type)) {
      throw new BadRecordException(Reason.UNKNOWN_OP, "the operation '" + message.type
          + "' empties the table; which rows that removes cannot be known here");
    }
    boolean isDelete = message.type.equals("DELETE");
    if (!isDelete && !message.type.equals("INSERT") && !message.type.equals("UPDATE")) {
      throw new BadRecordException(Reason.UNKNOWN_OP,
          "the operation '" + Detail.printable(message.type, Detail.MAX_EXCERPT) + "' is unknown");
    }
    if (message.data.isEmpty()) {
      throw Detail.wrongSchema("`data` has no row, and the operation is " + message.type);
    }
    List<Change> changes = new ArrayList<>();
    if (message.type.equals("UPDATE")) {
      addOldKeys(message, changes);
    }
    for (Object[] row : message.data) {
      changes.add(new Change(row, isDelete));
    }
    return changes;
  }

  /** Deletes the old key where an update moved a row to another key. */
  private void addOldKeys(Message message, List<Change> changes) {
    for (int i = 0; i < Math.min(message.old.size(), message.data.size()); i++) {
      Object[] before = message.old.get(i).over(message.data.get(i));
      if (rowKey.areKnown() && !rowKey.isMissingIn(before)
          && message.data.stream().allMatch(row -> rowKey.differ(before, row))) {
        changes.add(Change.delete(before));
      }
    }
  }

  private interface RowReader<T> {
    T read(JsonParser parser) throws IOException, BadRecordException;
  }

  /** The columns that an update changed, with their old values. */
  private record OldRow(Object[] values, boolean[] present) {
    Object[] over(Object[] row) {
      Object[] before = row.clone();
      for (int i = 0; i < before.length; i++) {
        before[i] = present[i] ? values[i] : before[i];
      }
      return before;
    }
  }

  /** The fields read so far. */
  private static final class Message {
    private String type;
    private List<Object[]> data = List.of();
    private List<OldRow> old = List.of();
  }
}
