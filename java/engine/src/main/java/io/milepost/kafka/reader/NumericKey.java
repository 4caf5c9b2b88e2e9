package io.milepost.kafka.reader;

import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** Parses a number that is written as text in a Kafka key, to the type of the row-key column. */
final class NumericKey {
  private NumericKey() {}

  static Object parse(UTF8String text, DataType type) throws BadRecordException {
    try {
      long number = Long.parseLong(text.toString());
      if (type.equals(DataTypes.LongType)) {
        return number;
      }
      if (type.equals(DataTypes.IntegerType)) {
        return Math.toIntExact(number);
      }
      if (type.equals(DataTypes.ShortType) && number == (short) number) {
        return (short) number;
      }
      if (type.equals(DataTypes.ByteType) && number == (byte) number) {
        return (byte) number;
      }
    } catch (ArithmeticException | NumberFormatException e) {
      // Reported below, with the expected type.
    }
    throw new BadRecordException(Reason.BAD_ROW_KEY,
        "the key of a tombstone is not a valid " + type.sql() + ", the type of the row-key column");
  }
}
