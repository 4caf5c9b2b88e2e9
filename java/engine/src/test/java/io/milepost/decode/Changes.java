package io.milepost.decode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.milepost.decode.change.ChangeDecoder;
import io.milepost.record.BadRecordException;
import io.milepost.record.Reason;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the tests of change logs ask: the changes of one record as short text, or the reason why there are none. */
public final class Changes {
  private Changes() {}

  public static ChangeDecoder decoder(String format, String ddl, String... more) {
    Map<String, String> options = new HashMap<>(Map.of("format", format, "schema", ddl));
    for (int i = 0; i < more.length; i += 2) {
      options.put(more[i], more[i + 1]);
    }
    return Decoders.changes(options);
  }

  /** `+[1, a]` for an upsert, `-[1, null]` for a delete. */
  public static List<String> of(ChangeDecoder decoder, String key, String value) throws BadRecordException {
    return decoder.decode(key == null ? null : Decoding.utf8(key), value == null ? null : Decoding.utf8(value)).stream()
        .map(change -> (change.isDelete() ? "-" : "+") + Arrays.toString(change.values())).toList();
  }

  public static String refused(Reason reason, ChangeDecoder decoder, String key, String value) {
    BadRecordException e = assertThrows(BadRecordException.class, () -> of(decoder, key, value));
    assertEquals(reason, e.reason(), e.getMessage());
    Decoding.assertPrintable(e.getMessage());
    return e.getMessage();
  }
}
