package io.milepost.hbase.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.record.BadRecordException;
import io.milepost.version.Eras;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class RowVersionTest {
  private static final StructType SCHEMA = Rows.schema(DataTypes.StringType);
  private static final String ERAS = "{\"topic\":{\"id\":\"a\",\"begun\":0,\"eras\":["
      + "{\"generation\":0,\"order\":\"offset\",\"from\":{}},"
      + "{\"generation\":1,\"order\":\"time\",\"from\":{\"3\":10},\"since\":" + Rows.NOW + ",\"until\":" + (Rows.NOW + 1000) + "},"
      + "{\"generation\":2,\"order\":\"offset\",\"from\":{\"3\":100}}]}}";

  private static long version(HBaseOptions options, InternalRow kafka) throws BadRecordException {
    RowVersion version = new RowVersion(options, SCHEMA, Rows.EPOCH, () -> Rows.NOW);
    return version.of(Rows.row("k", "x", null, kafka), kafka);
  }

  @Test
  void theEraOfARecordMakesItsVersion() throws BadRecordException {
    HBaseOptions options = Rows.options("eras", ERAS);
    assertEquals(9, version(options, Rows.kafka(9)));
    assertEquals(1L << 48 | 1L << 46 | 2L << 36 | 1, version(options, Rows.kafka(11, (Rows.NOW + 2) * 1000 + 999, false)));
    assertEquals(1L << 48 | 1, version(options, Rows.kafka(11, null, false)));
    assertEquals(2L << 48 | 100, version(options, Rows.kafka(100)));
  }

  @Test
  void aWriterSeesRecordsOfSeveralTopics() throws BadRecordException {
    RowVersion version = new RowVersion(Rows.options("eras", ERAS), SCHEMA, Rows.EPOCH, () -> Rows.NOW);
    InternalRow known = Rows.kafka(100);
    InternalRow other = Rows.row("another", 3, 100L, null, null, false);
    for (int i = 0; i < 2; i++) {
      assertEquals(2L << 48 | 100, version.of(known, known));
      assertEquals(100, version.of(other, other));
    }
  }

  @Test
  void theCheckpointStandsBehindItsGeneration() throws BadRecordException {
    assertEquals(3L << 48 | Rows.EPOCH, version(Rows.options("version", "checkpoint", "generation", "3"), Rows.kafka(1)));
  }

  @Test
  void theErasOfABatchGoToItsTasksAsAnOption() {
    HBaseOptions options = Rows.options();
    assertNull(options.eras());
    assertSame(options, options.withEras(null));
    assertEquals(ERAS, options.withEras(Eras.parse(ERAS)).eras().toJson().replace("{\"0\":0,\"1\":0,\"2\":0,\"3\":", "{\"3\":"));
  }
}
