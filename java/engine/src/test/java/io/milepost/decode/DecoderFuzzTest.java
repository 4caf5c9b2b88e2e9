package io.milepost.decode;

import static io.milepost.decode.Decoding.assertPrintable;
import static io.milepost.decode.Decoding.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.decode.avro.AvroDecoderTest;
import io.milepost.decode.change.ChangeDecoder;
import io.milepost.record.BadRecordException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Whatever the bytes are, a decoder answers with values or with a bad record. */
final class DecoderFuzzTest {
  private static final String DOCUMENT = "{\"id\":\"o-1\",\"u\":\"gr\\u00fc\\ud83d\\ude00ß\",\"n\":-12,\"amount\":12.5e1,\"price\":99.95,"
      + "\"at\":\"2026-01-31T12:34:56.789+01:00\",\"day\":\"2026-01-31\",\"ok\":true,\"raw\":\"AP8Q\",\"none\":null,"
      + "\"items\":[{\"sku\":\"a\",\"qty\":1},{\"sku\":\"b\",\"qty\":2}],\"tags\":{\"x\":1.5,\"y\":2},\"extra\":[1,[2,{\"z\":\"\"}]]}";
  private static final String DDL = "id STRING NOT NULL, u STRING, n INT, amount DOUBLE, price DECIMAL(10,2), at TIMESTAMP, day DATE, "
      + "ok BOOLEAN, raw BINARY, none STRING, items ARRAY<STRUCT<sku: STRING, qty: SMALLINT>>, tags MAP<STRING, FLOAT>";
  private static final byte[] GRAMMAR = utf8("{}[]:,\"\\\"u0123456789+-.eEtrufalsn /*'\u00e9\n");

  private final List<RecordDecoder> decoders = List.of(
      Decoders.of(Map.of("format", "json", "schema", DDL)),
      Decoders.of(Map.of("format", "avro", "schema", AvroDecoderTest.ORDER)),
      Decoders.of(Map.of("format", "avro", "schema", AvroDecoderTest.ORDER, "avro.confluent-header", "true")),
      Decoders.of(Map.of("format", "string")));
  private final Object[] out = new Object[12];

  @Test
  void randomBytes() {
    Random random = new Random(20260131);
    for (int i = 0; i < 200_000; i++) {
      byte[] value = new byte[random.nextInt(64)];
      random.nextBytes(value);
      if (i % 4 != 0) {
        for (int k = 0; k < value.length; k++) {
          value[k] = GRAMMAR[(value[k] & 0xff) % GRAMMAR.length];
        }
        value = i % 4 == 1 ? value : join(utf8("{\"tags\":"), value);
      }
      decodeWithAll(value);
    }
  }

  @Test
  void mutationsOfValidRecords() throws BadRecordException {
    byte[][] valid = {utf8(DOCUMENT), AvroDecoderTest.order()};
    decoders.get(0).decode(null, valid[0], out);
    decoders.get(1).decode(null, valid[1], out);
    Random random = new Random(42);
    int accepted = 0;
    for (int i = 0; i < 200_000; i++) {
      byte[] value = valid[i & 1].clone();
      for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
        value = mutate(value, random);
      }
      accepted += decodeWithAll(value);
    }
    assertTrue(accepted > 1000, "mutations that never survive test only the first check: " + accepted);
  }

  @Test
  void mutationsOfEnvelopes() throws BadRecordException {
    byte[][] valid = {utf8("{\"schema\":{},\"payload\":{\"before\":{\"id\":\"a\"},\"after\":" + DOCUMENT + ",\"op\":\"u\"}}"),
        utf8("{\"data\":[" + DOCUMENT + "],\"old\":[{\"id\":\"a\",\"n\":\"7\"}],\"type\":\"UPDATE\"}")};
    List<ChangeDecoder> logs = List.of(Changes.decoder("debezium-json", DDL, "row-key", "id"),
        Changes.decoder("canal-json", DDL, "row-key", "id"));
    assertEquals(2, logs.get(0).decode(null, valid[0]).size());
    assertEquals(2, logs.get(1).decode(null, valid[1]).size());
    Random random = new Random(43);
    int accepted = 0;
    for (int i = 0; i < 100_000; i++) {
      byte[] value = mutate(valid[i & 1].clone(), random);
      try {
        accepted += logs.get(i & 1).decode(value, value).isEmpty() ? 0 : 1;
      } catch (BadRecordException e) {
        assertPrintable(e.getMessage());
      }
    }
    assertTrue(accepted > 1000, "mutations that never survive test only the first check: " + accepted);
  }

  @Test
  void everyPrefixOfADocument() {
    byte[] document = utf8(DOCUMENT);
    for (int length = 0; length < document.length; length++) {
      byte[] prefix = Arrays.copyOf(document, length);
      Decoding.assertBad(decoders.get(0), prefix);
    }
  }

  private static byte[] mutate(byte[] value, Random random) {
    if (value.length == 0) {
      return new byte[] {(byte) random.nextInt()};
    }
    int at = random.nextInt(value.length);
    int to = at + random.nextInt(Math.min(16, value.length - at)) + 1;
    switch (random.nextInt(6)) {
      case 0:
        value[at] ^= (byte) (1 << random.nextInt(8));
        return value;
      case 1:
        value[at] = GRAMMAR[random.nextInt(GRAMMAR.length)];
        return value;
      case 2:
        value[at] = (byte) random.nextInt();
        return value;
      case 3: // a piece is lost
        return join(Arrays.copyOf(value, at), Arrays.copyOfRange(value, to, value.length));
      case 4: // a piece is there twice
        return join(Arrays.copyOf(value, to), Arrays.copyOfRange(value, at, value.length));
      default: // the end is lost, or something follows
        return random.nextBoolean() ? Arrays.copyOf(value, at) : join(value, new byte[] {GRAMMAR[at % GRAMMAR.length]});
    }
  }

  /** How many decoders took the value; anything but a bad record fails the test. */
  private int decodeWithAll(byte[] value) {
    int accepted = 0;
    for (RecordDecoder decoder : decoders) {
      try {
        decoder.decode(value, value, out);
        accepted++;
      } catch (BadRecordException e) {
        assertPrintable(e.getMessage());
      }
    }
    return accepted;
  }

  private static byte[] join(byte[] head, byte[] tail) {
    byte[] joined = Arrays.copyOf(head, head.length + tail.length);
    System.arraycopy(tail, 0, joined, head.length, tail.length);
    return joined;
  }
}
