package io.milepost.hbase.mapping;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RowKeyTest {
  private static final StructType TWO_TEXTS =
      new StructType().add("a", DataTypes.StringType).add("b", DataTypes.StringType).add("v", DataTypes.LongType);

  private static RowKeyEncoder encoder(HBaseOptions options, StructType schema) {
    return new RowKeyEncoder(options, Mapping.forWrite(options, schema).key());
  }

  private static RowKeyDecoder decoder(HBaseOptions options, StructType schema) {
    return new RowKeyDecoder(options, Mapping.forRead(options, schema).key());
  }

  private static String key(HBaseOptions options, StructType schema, Object... values) throws BadRecordException {
    return Bytes.toStringBinary(encoder(options, schema).encode(Rows.row(values)));
  }

  @ParameterizedTest
  @CsvSource({"native,0", "string,0", "json,0", "native,16", "string,7"})
  void noTwoKeysCollideAndEachComesBack(String encoding, String salt) throws BadRecordException {
    HBaseOptions options = Rows.options("row-key", "[\"a\",\"b\"]", "encoding", encoding, "salt", salt);
    RowKeyEncoder encoder = encoder(options, TWO_TEXTS);
    RowKeyDecoder decoder = decoder(options, TWO_TEXTS);
    Map<String, List<String>> seen = new HashMap<>();
    Random random = new Random(42);
    for (int i = 0; i < 50_000; i++) {
      List<String> pair = List.of(anyText(random), anyText(random));
      byte[] key = encoder.encode(Rows.row(pair.get(0), pair.get(1), 1L));
      List<String> other = seen.put(Bytes.toHex(key), pair);
      assertEquals(other == null ? pair : other, pair, "two pairs share a key");
      Object[] back = new Object[3];
      decoder.decode(key, back);
      assertEquals(pair, List.of(back[0].toString(), back[1].toString()));
    }
  }

  /** Short, and of the characters that could confuse: zero, the marks, both separators, an emoji. */
  private static String anyText(Random random) {
    String[] alphabet = {"\0", "\u0001", "ÿ", "|", "\\", "a", "b", "\n", " ", "😀"};
    StringBuilder text = new StringBuilder();
    for (int n = random.nextInt(5); n > 0; n--) {
      text.append(alphabet[random.nextInt(alphabet.length)]);
    }
    return text.toString();
  }

  @Test
  void nativePartsAreJoinedAsPromised() throws BadRecordException {
    HBaseOptions options = Rows.options("row-key", "[\"a\",\"v\",\"b\"]", "columns", "{\"d\":[\"v\"]}");
    assertEquals("x\\x00\\xFF\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x05y\\x00",
        key(options, TWO_TEXTS, "x\0", "y\0", 5L));
    Object[] back = new Object[3];
    decoder(options, TWO_TEXTS).decode(encoder(options, TWO_TEXTS).encode(Rows.row("x\0", "y\0", 5L)), back);
    assertArrayEquals(new Object[] {UTF8String.fromString("x\0"), UTF8String.fromString("y\0"), 5L}, back);
  }

  @Test
  void textPartsAreJoinedAsPromised() throws BadRecordException {
    HBaseOptions options = Rows.options("row-key", "[\"a\",\"b\"]", "encoding", "json");
    assertEquals("a\\|b|c", new String(
        encoder(options, TWO_TEXTS).encode(Rows.row("a|b", "c", 1L)), StandardCharsets.UTF_8));
    assertEquals("a|b\\|c\\\\", new String(
        encoder(options, TWO_TEXTS).encode(Rows.row("a", "b|c\\", 1L)), StandardCharsets.UTF_8));
  }

  @Test
  void aSingleColumnIsItsOwnEncoding() throws BadRecordException {
    String odd = " a\0|\\\n😀e\u0301 ";
    for (String encoding : new String[] {"native", "string", "json"}) {
      HBaseOptions options = Rows.options("encoding", encoding, "row-key", "[\"a\"]");
      assertArrayEquals(odd.getBytes(StandardCharsets.UTF_8), encoder(options, TWO_TEXTS).encode(Rows.row(odd, "b", 1L)));
    }
  }

  @Test
  void lengthIsLimited() throws BadRecordException {
    HBaseOptions options = Rows.options("row-key", "[\"a\"]");
    assertEquals(32_767, encoder(options, TWO_TEXTS).encode(Rows.row("x".repeat(32_767), "b", 1L)).length);
    Rows.assertBad(Reason.BAD_ROW_KEY, "32768 bytes",
        () -> encoder(options, TWO_TEXTS).encode(Rows.row("x".repeat(32_768), "b", 1L)));
    HBaseOptions salted = Rows.options("row-key", "[\"a\"]", "salt", "4");
    Rows.assertBad(Reason.BAD_ROW_KEY, "32768 bytes",
        () -> encoder(salted, TWO_TEXTS).encode(Rows.row("x".repeat(32_767), "b", 1L)));
    HBaseOptions two = Rows.options("row-key", "[\"a\",\"b\"]");
    Rows.assertBad(Reason.BAD_ROW_KEY, "bytes",
        () -> encoder(two, TWO_TEXTS).encode(Rows.row("x".repeat(1 << 22), "b", 1L)));
  }

  @Test
  void nullAndEmptyAreRefused() {
    HBaseOptions options = Rows.options("row-key", "[\"a\"]");
    Rows.assertBad(Reason.BAD_ROW_KEY, "'a' is null", () -> encoder(options, TWO_TEXTS).encode(Rows.row(null, "b", 1L)));
    Rows.assertBad(Reason.BAD_ROW_KEY, "empty", () -> encoder(options, TWO_TEXTS).encode(Rows.row("", "b", 1L)));
    HBaseOptions salted = Rows.options("row-key", "[\"a\"]", "salt", "4");
    Rows.assertBad(Reason.BAD_ROW_KEY, "empty", () -> encoder(salted, TWO_TEXTS).encode(Rows.row("", "b", 1L)));
  }

  /** Published vectors of MurmurHash3_x86_32 with seed 0: other programs must find the same bucket. */
  @Test
  void theSaltIsMurmur3() throws BadRecordException {
    assertBucket(0x248bfa47, "hello");
    assertBucket(0x149bbb7f, "hello, world");
    assertBucket(0x2e4ff723, "The quick brown fox jumps over the lazy dog");
    HBaseOptions options = Rows.options("row-key", "[\"a\"]", "salt", "100");
    byte[] key = encoder(options, TWO_TEXTS).encode(Rows.row("hello", "b", 1L));
    assertEquals(Math.floorMod(0x248bfa47, 100), key[0]);
    assertEquals("hello", new String(key, 1, 5, StandardCharsets.UTF_8));
  }

  private static void assertBucket(int hash, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    assertEquals((byte) Math.floorMod(hash, 251), RowKeyEncoder.bucket(bytes, 0, bytes.length, 251));
  }

  @Test
  void aForeignKeyIsRefusedByTheReader() {
    HBaseOptions options = Rows.options("row-key", "[\"a\",\"b\"]");
    Object[] row = new Object[3];
    Rows.assertRefused("'a' has no end mark", () -> decoder(options, TWO_TEXTS).decode(Bytes.toBytes("plain"), row));
    HBaseOptions text = Rows.options("row-key", "[\"a\",\"b\"]", "encoding", "string");
    Rows.assertRefused("fewer parts", () -> decoder(text, TWO_TEXTS).decode(Bytes.toBytes("plain"), row));
    Rows.assertRefused("more parts", () -> decoder(text, TWO_TEXTS).decode(Bytes.toBytes("a|b|c"), row));
    HBaseOptions number = Rows.options("row-key", "[\"v\"]", "columns", "{\"d\":[\"a\",\"b\"]}");
    Rows.assertRefused("row-key column 'v': BIGINT has 8 bytes",
        () -> decoder(number, TWO_TEXTS).decode(Bytes.toBytes("abc"), row));
  }
}
