package io.milepost.decode.json;

import io.milepost.decode.RecordDecoder;
import io.milepost.record.BadRecordException;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes one JSON object per record, strictly. Invalid JSON is MALFORMED, wherever the fault is; valid JSON of
 * another shape is WRONG_SCHEMA and names the field. Undeclared fields are skipped without being checked.
 */
public final class JsonDecoder implements RecordDecoder {
  private final JsonDocument document = new JsonDocument();
  private final JsonStruct root;

  public JsonDecoder(StructType columns) {
    root = JsonReaders.root(columns);
  }

  @Override
  public void decode(byte[] key, byte[] value, Object[] out) throws BadRecordException {
    document.read(value, parser -> root.readFields(parser, out));
  }
}
