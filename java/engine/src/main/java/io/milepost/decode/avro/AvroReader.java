package io.milepost.decode.avro;

import io.milepost.record.BadRecordException;

/** Reads one Avro value of a declared type from the current position of the input. */
interface AvroReader {
  Object read(AvroInput input) throws BadRecordException;
}
