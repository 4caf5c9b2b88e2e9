package io.milepost.hbase.mapping;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MappingTest {
  private static final int LONGEST = 32_767;

  private static void assertStored(String qualifier, String json) {
    HBaseOptions options = Rows.options("columns", "{\"d\": {\"" + json + "\": \"v\"}}");
    byte[] found = Mapping.forWrite(options, Rows.schema(DataTypes.LongType)).values().get(0).qualifier();
    assertArrayEquals(qualifier.getBytes(StandardCharsets.UTF_8), found);
  }

  @ParameterizedTest
  @ValueSource(strings = {":", "a:b", "d:", " ", "\u0000", "a\u0000b", "ü", "😀", "|", "\n"})
  void aQualifierIsStoredByteForByte(String qualifier) {
    StringBuilder escaped = new StringBuilder();
    qualifier.chars().forEach(c -> escaped.append(String.format("\\u%04x", c)));
    assertStored(qualifier, escaped.toString());
  }

  @Test
  void theLongestQualifierIsTakenAndOneByteMoreIsRefused() {
    String longest = "q".repeat(LONGEST);
    assertStored(longest, longest);
    HBaseOptions longer = Rows.options("columns", "{\"d\": {\"" + longest + "q\": \"v\"}}");
    Rows.assertRefused("the qualifier has 32768 bytes",
        () -> Mapping.forWrite(longer, Rows.schema(DataTypes.LongType)));
  }
}
