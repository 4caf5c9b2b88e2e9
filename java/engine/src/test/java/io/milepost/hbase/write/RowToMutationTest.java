package io.milepost.hbase.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.kafka.reader.RecordSchema;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.util.List;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RowToMutationTest {
  private static final StructType SCHEMA = Rows.schema(DataTypes.StringType);
  private static final StructType TWO = new StructType().add("id", DataTypes.StringType)
      .add("v", DataTypes.StringType).add("w", DataTypes.StringType).add(RecordSchema.KAFKA, RecordSchema.ORIGIN);
  private static final String TWO_COLUMNS = "{\"e\": {\"q\": \"w\"}, \"d\": [\"v\"]}";

  private static List<Cell> cells(Row mutation) {
    return ((Mutation) mutation).getFamilyCellMap().values().stream().flatMap(List::stream).toList();
  }

  private static String text(Cell cell) {
    return cell.getType() + " " + Bytes.toString(CellUtil.cloneFamily(cell)) + ":"
        + Bytes.toString(CellUtil.cloneQualifier(cell)) + "@" + cell.getTimestamp() + "="
        + Bytes.toString(CellUtil.cloneValue(cell));
  }

  private static List<String> texts(Row mutation) {
    return cells(mutation).stream().map(RowToMutationTest::text).toList();
  }

  @Test
  void anUpsertIsOnePutWithTheOffsetAsVersion() throws BadRecordException {
    Row put = Mutations.mutation(Rows.options(), SCHEMA, Rows.row("k", "x", null, Rows.kafka(42)));
    assertInstanceOf(Put.class, put);
    assertArrayEquals(Bytes.toBytes("k"), put.getRow());
    assertEquals(List.of("Put d:v@42=x"), texts(put));
  }

  @Test
  void qualifiersAndFamiliesAreAsMapped() throws BadRecordException {
    Row put = Mutations.mutation(Rows.options("columns", TWO_COLUMNS), TWO, Rows.row("k", "x", "y", Rows.kafka(1)));
    assertEquals(List.of("Put d:v@1=x", "Put e:q@1=y"), texts(put));
  }

  @ParameterizedTest
  @ValueSource(strings = {"upsert", "c", "r", "u", "INSERT", "UPDATE", "+I", "+U"})
  void upsertWords(String op) throws BadRecordException {
    assertInstanceOf(Put.class, Mutations.mutation(Rows.options("op", "op"), SCHEMA, Rows.row("k", "x", op, Rows.kafka(1))));
  }

  @ParameterizedTest
  @ValueSource(strings = {"delete", "d", "DELETE", "-D"})
  void deleteWords(String op) throws BadRecordException {
    Row delete = Mutations.mutation(Rows.options("op", "op"), SCHEMA, Rows.row("k", "x", op, Rows.kafka(9)));
    assertInstanceOf(Delete.class, delete);
    assertEquals(List.of("DeleteFamily d:@9="), texts(delete));
  }

  @ParameterizedTest
  @ValueSource(strings = {"UPDATE_BEFORE", "-U"})
  void oldImagesAreIgnored(String op) throws BadRecordException {
    assertEquals(Op.IGNORE, Mutations.converter(Rows.options("op", "op"), SCHEMA)
        .op(Rows.row("k", "x", op, Rows.kafka(1)), Rows.kafka(1)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"x", "Upsert", "DELETE ", "", "insert", "\u0000"})
  void unknownWordsAreRefused(String op) {
    Rows.assertBad(Reason.UNKNOWN_OP, "is unknown",
        () -> Mutations.mutation(Rows.options("op", "op"), SCHEMA, Rows.row("k", "x", op, Rows.kafka(1))));
  }

  @Test
  void aNullOpIsRefused() {
    Rows.assertBad(Reason.UNKNOWN_OP, "null",
        () -> Mutations.mutation(Rows.options("op", "op"), SCHEMA, Rows.row("k", "x", null, Rows.kafka(1))));
  }

  @Test
  void aTombstoneDeletesWhateverTheOpSays() throws BadRecordException {
    Row row = Mutations.mutation(Rows.options("op", "op"), SCHEMA,
        Rows.row("k", null, "upsert", Rows.kafka(5, Rows.NOW * 1000, true)));
    assertEquals(List.of("DeleteFamily d:@5="), texts(row));
  }

  @Test
  void aRowDeleteNamesEveryMappedFamilyAndAColumnDeleteEveryColumn() throws BadRecordException {
    var tombstone = Rows.row("k", null, null, Rows.kafka(5, Rows.NOW * 1000, true));
    assertEquals(List.of("DeleteFamily d:@5=", "DeleteFamily e:@5="),
        texts(Mutations.mutation(Rows.options("columns", TWO_COLUMNS), TWO, tombstone)));
    assertEquals(List.of("DeleteColumn d:v@5=", "DeleteColumn e:q@5="),
        texts(Mutations.mutation(Rows.options("columns", TWO_COLUMNS, "delete", "columns"), TWO, tombstone)));
  }

  @Test
  void nullsAreSkippedOrEmptyOrDeleted() throws BadRecordException {
    var half = Rows.row("k", null, "y", Rows.kafka(5));
    assertEquals(List.of("Put e:q@5=y"), texts(Mutations.mutation(Rows.options("columns", TWO_COLUMNS), TWO, half)));
    assertEquals(List.of("Put d:v@5=", "Put e:q@5=y"),
        texts(Mutations.mutation(Rows.options("columns", TWO_COLUMNS, "nulls", "empty"), TWO, half)));
    RowMutations both = assertInstanceOf(RowMutations.class,
        Mutations.mutation(Rows.options("columns", TWO_COLUMNS, "nulls", "delete"), TWO, half));
    assertEquals(List.of("DeleteColumn d:v@5="), texts(both.getMutations().get(0)));
    assertEquals(List.of("Put e:q@5=y"), texts(both.getMutations().get(1)));
  }

  @Test
  void aRowOfNullsIsNothingUnlessNullsAreWritten() throws BadRecordException {
    var empty = Rows.row("k", null, null, Rows.kafka(5));
    assertNull(Mutations.mutation(Rows.options("columns", TWO_COLUMNS), TWO, empty));
    assertEquals(List.of("DeleteColumn d:v@5=", "DeleteColumn e:q@5="),
        texts(Mutations.mutation(Rows.options("columns", TWO_COLUMNS, "nulls", "delete"), TWO, empty)));
  }

  /** The cell itself, and four bytes that the server adds to it in its check. */
  @Test
  void aCellAtTheLimitIsTakenAndOneByteMoreIsRefused() throws BadRecordException {
    int overhead = 4 + 4 + 4 + 2 + 1 + 1 + 1 + 1 + 8 + 1;
    int most = (10 << 20) - overhead;
    Mutations.mutation(Rows.options(), SCHEMA, Rows.row("k", "x".repeat(most), null, Rows.kafka(1)));
    Rows.assertBad(Reason.OVERSIZED, "column 'v'", () ->
        Mutations.mutation(Rows.options(), SCHEMA, Rows.row("k", "x".repeat(most + 1), null, Rows.kafka(1))));
    Rows.assertBad(Reason.OVERSIZED, "takes 100", () -> Mutations.mutation(
        Rows.options("hbase.client.keyvalue.maxsize", "100"), SCHEMA, Rows.row("k", "x".repeat(100), null, Rows.kafka(1))));
  }

  @ParameterizedTest
  @CsvSource({"0, 0, 0", "5, 0, 5", "5, 1, 281474976710661", "281474976710655, 0, 281474976710655",
      "1, 32767, 9223090561878065153"})
  void theOffsetVersionCarriesTheGeneration(long offset, String generation, long version) throws BadRecordException {
    Row put = Mutations.mutation(Rows.options("generation", generation), SCHEMA, Rows.row("k", "x", null, Rows.kafka(offset)));
    assertEquals(version, cells(put).get(0).getTimestamp());
  }

  @Test
  void offsetsThatDoNotFitAreRefused() {
    for (long offset : new long[] {-1, 1L << 48, Long.MAX_VALUE}) {
      Rows.assertBad(Reason.BAD_VERSION, "does not fit",
          () -> Mutations.mutation(Rows.options(), SCHEMA, Rows.row("k", "x", null, Rows.kafka(offset))));
    }
    Rows.assertBad(Reason.BAD_VERSION, "does not fit", () -> Mutations.mutation(
        Rows.options("generation", "32767"), SCHEMA, Rows.row("k", "x", null, Rows.kafka((1L << 48) - 1))));
  }

  @Test
  void theCheckpointVersionIsTheEpoch() throws BadRecordException {
    StructType plain = new StructType().add("id", DataTypes.StringType).add("v", DataTypes.StringType);
    Row put = Mutations.mutation(Rows.options("version", "checkpoint"), plain, Rows.row("k", "x"));
    assertEquals(List.of("Put d:v@" + Rows.EPOCH + "=x"), texts(put));
  }

  /** LATEST_TIMESTAMP is what the client sends for "the server's time". */
  @Test
  void theServersTimeIsLeftToTheServer() throws BadRecordException {
    HBaseOptions options = Rows.options("version", "server-time", "op", "op");
    StructType plain = new StructType().add("id", DataTypes.StringType).add("v", DataTypes.StringType)
        .add("op", DataTypes.StringType);
    assertEquals(List.of("Put d:v@" + Long.MAX_VALUE + "=x"), texts(Mutations.mutation(options, plain, Rows.row("k", "x", "c"))));
    assertEquals(List.of("DeleteFamily d:@" + Long.MAX_VALUE + "="),
        texts(Mutations.mutation(options, plain, Rows.row("k", "x", "d"))));
    HBaseOptions columns = Rows.options("version", "server-time", "op", "op", "delete", "columns");
    assertEquals(List.of("DeleteColumn d:v@" + Long.MAX_VALUE + "="),
        texts(Mutations.mutation(columns, plain, Rows.row("k", "x", "d"))));
  }

  @Test
  void theTimestampVersionIsInMillisecondsAndNotFarAhead() throws BadRecordException {
    HBaseOptions options = Rows.options("version", "timestamp");
    long day = 24L * 3600 * 1000;
    assertEquals(Rows.NOW, cells(Mutations.mutation(options, SCHEMA,
        Rows.row("k", "x", null, Rows.kafka(1, Rows.NOW * 1000 + 999, false)))).get(0).getTimestamp());
    assertEquals(Rows.NOW + day, cells(Mutations.mutation(options, SCHEMA,
        Rows.row("k", "x", null, Rows.kafka(1, (Rows.NOW + day) * 1000, false)))).get(0).getTimestamp());
    assertBadTimestamp("24 hours", (Rows.NOW + day + 1) * 1000);
    assertBadTimestamp("24 hours", 253_402_300_799_000_000L);
    assertBadTimestamp("negative", -1000L);
    assertBadTimestamp("negative", -1L);
    assertBadTimestamp("no timestamp", null);
  }

  private static void assertBadTimestamp(String part, Long micros) {
    Rows.assertBad(Reason.BAD_VERSION, part, () -> Mutations.mutation(Rows.options("version", "timestamp"), SCHEMA,
        Rows.row("k", "x", null, Rows.kafka(1, micros, false))));
  }

  @Test
  void theVersionMayComeFromAColumn() throws BadRecordException {
    HBaseOptions options = Rows.options("version", "column:n");
    StructType longs = new StructType().add("id", DataTypes.StringType).add("v", DataTypes.StringType)
        .add("n", DataTypes.LongType);
    assertEquals(List.of("Put d:v@12=x"), texts(Mutations.mutation(options, longs, Rows.row("k", "x", 12L))));
    StructType times = new StructType().add("id", DataTypes.StringType).add("v", DataTypes.StringType)
        .add("n", DataTypes.TimestampType);
    assertEquals(List.of("Put d:v@12=x"), texts(Mutations.mutation(options, times, Rows.row("k", "x", 12_345L))));
    for (Long bad : new Long[] {null, -1L, Long.MAX_VALUE}) {
      Rows.assertBad(Reason.BAD_VERSION, "", () -> Mutations.mutation(options, longs, Rows.row("k", "x", bad)));
    }
  }
}
