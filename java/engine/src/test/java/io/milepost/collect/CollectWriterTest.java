package io.milepost.collect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.sink.WriterId;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class CollectWriterTest {
  private static final StructType SCHEMA = new StructType().add("id", DataTypes.StringType);

  private static CollectAck written(int partition, int mostRows, String... ids) {
    CollectWriter writer = new CollectWriter(SCHEMA, mostRows, new WriterId(partition, 0, 1, 3), null);
    for (String id : ids) {
      writer.write(new GenericInternalRow(new Object[] {UTF8String.fromString(id)}));
    }
    return (CollectAck) writer.commit();
  }

  private static String text(byte[] page) {
    return new String(page, StandardCharsets.ISO_8859_1);
  }

  @Test
  void rowsAreHandedOverOnceAndInOrder() {
    CollectedRows.put("job", new CollectedRows(3, List.of(written(0, 10, "first", "second"), written(1, 10, "third"))));
    CollectedRows rows = CollectedRows.take("job", 3);
    assertEquals(3, rows.rows());
    StringBuilder pages = new StringBuilder();
    for (int page = 0; page < rows.pages(); page++) {
      pages.append(text(rows.page(page)));
    }
    assertTrue(pages.toString().matches("(?s).*first.*second.*third.*"));
    assertThrows(IllegalStateException.class, () -> CollectedRows.take("job", 3));
  }

  @Test
  void beyondTheLimitRowsAreOnlyCounted() {
    CollectAck ack = written(0, 1, "kept", "counted");
    assertEquals(2, ack.rows());
    assertEquals(1, ack.pages().size());
    assertTrue(text(ack.pages().get(0)).contains("kept"));
    assertTrue(ack.live().json().contains("\"rows\":2"));
  }

  @Test
  void rowsOfAnotherEpochAreNotTaken() {
    CollectedRows.put("job", new CollectedRows(3, List.of(written(0, 10, "x"))));
    assertThrows(IllegalStateException.class, () -> CollectedRows.take("job", 4));
  }
}
