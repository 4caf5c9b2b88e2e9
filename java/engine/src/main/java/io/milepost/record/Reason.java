package io.milepost.record;

/** Why a record cannot be applied. The names are part of the interface: they appear in dead letters, counters and errors. */
public enum Reason {
  /** The bytes are not what the format says: invalid JSON, invalid UTF-8, a broken Avro body. */
  MALFORMED,
  /** The value is there and has no bytes; a null value is a tombstone and not bad. */
  EMPTY_VALUE,
  /** The JSON document is the literal null. */
  NULL_DOCUMENT,
  /** Well-formed, but a field is missing, of another type, or out of range. */
  WRONG_SCHEMA,
  /** The user's own deserializer raised. */
  DESERIALIZER_FAILED,
  /** The row key is null, empty or longer than HBase allows. */
  BAD_ROW_KEY,
  /** The operation is none that we know. */
  UNKNOWN_OP,
  /** The cell version is null, negative, or too far in the future. */
  BAD_VERSION,
  /** A cell is larger than HBase accepts. */
  OVERSIZED,
  /** A column qualifier cannot be stored. */
  BAD_COLUMN,
  /** Not bad: a heartbeat or a schema change in a change log, which is counted and passed over under every policy. */
  NO_CHANGE
}
