package io.milepost.decode.avro;

import io.milepost.decode.RecordDecoder;
import io.milepost.decode.text.Detail;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import org.apache.avro.Schema;

/**
 * Decodes one Avro record in plain binary encoding, written with exactly the configured schema. With the Confluent
 * header the schema id is skipped, not looked up: no registry is asked.
 */
public final class AvroDecoder implements RecordDecoder {
  private static final int HEADER_LENGTH = 5;

  private final AvroReader[] fields;
  private final boolean header;
  private final AvroInput input = new AvroInput();

  public AvroDecoder(Schema schema, boolean header) {
    this.fields = AvroReaders.fields(schema, AvroSchemas.columns(schema), "");
    this.header = header;
  }

  @Override
  public void decode(byte[] key, byte[] value, Object[] out) throws BadRecordException {
    if (value.length == 0) {
      throw new BadRecordException(Reason.EMPTY_VALUE, "the value has no bytes, where Avro was expected");
    }
    if (header && (value.length < HEADER_LENGTH || value[0] != 0)) {
      throw Detail.malformed("the value does not begin with a zero byte and a schema id of four bytes");
    }
    input.reset(value, header ? HEADER_LENGTH : 0);
    for (int i = 0; i < fields.length; i++) {
      out[i] = fields[i].read(input);
    }
    if (input.remaining() > 0) {
      throw Detail.malformed(input.remaining() + " bytes are left after the end of the Avro body");
    }
  }
}
