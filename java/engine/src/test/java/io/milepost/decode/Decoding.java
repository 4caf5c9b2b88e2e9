package io.milepost.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.decode.text.Detail;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** What the tests of decoders ask of them: the values of one record, or the reason why there are none. */
public final class Decoding {
  private Decoding() {}

  public static RecordDecoder json(String ddl) {
    return Decoders.of(Map.of("format", "json", "schema", ddl));
  }

  public static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** The values of at most eight columns. */
  public static Object[] values(RecordDecoder decoder, byte[] value) throws BadRecordException {
    Object[] out = new Object[8];
    decoder.decode(null, value, out);
    return out;
  }

  public static Object first(String ddl, String document) throws BadRecordException {
    return values(json(ddl), utf8(document))[0];
  }

  public static String refused(Reason reason, RecordDecoder decoder, byte[] value) {
    BadRecordException e = assertThrows(BadRecordException.class, () -> values(decoder, value));
    assertEquals(reason, e.reason(), e.getMessage());
    assertPrintable(e.getMessage());
    return e.getMessage();
  }

  /** The detail of a record that is bad for whatever reason. */
  public static String assertBad(RecordDecoder decoder, byte[] value) {
    String detail = assertThrows(BadRecordException.class, () -> values(decoder, value)).getMessage();
    assertPrintable(detail);
    return detail;
  }

  static void assertPrintable(String detail) {
    assertTrue(detail.length() <= Detail.MAX_LENGTH, () -> detail.length() + " characters: " + detail);
    assertTrue(detail.chars().noneMatch(Character::isISOControl), detail);
  }
}
