package io.milepost.decode;

import static io.milepost.decode.Decoding.utf8;

import io.milepost.decode.avro.AvroDecoderTest;
import io.milepost.record.BadRecordException;
import java.lang.management.ManagementFactory;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Prints how many records one core decodes in a second; asserts nothing, for machines differ. */
final class DecodeRateTest {
  private static final int DISTINCT = 1024;
  private static final long ROUND_NANOS = 700_000_000L;

  @Test
  void fiveFields() throws BadRecordException {
    byte[][] ordered = new byte[DISTINCT][];
    byte[][] shuffled = new byte[DISTINCT][];
    for (int i = 0; i < DISTINCT; i++) {
      ordered[i] = utf8("{\"id\":\"order-" + i + "\",\"customer\":\"customer-" + i % 97 + "\",\"amount\":" + i + ".25,\"qty\":" + i
          + ",\"op\":\"upsert\"}");
      shuffled[i] = utf8("{ \"op\": \"upsert\", \"source\": \"web\", \"qty\": " + i + ", \"amount\": " + i + ".25, \"customer\": \"customer-" + i % 97
          + "\", \"id\": \"order-" + i + "\" }");
    }
    String ddl = "id STRING NOT NULL, customer STRING, amount DOUBLE, qty BIGINT, op STRING";
    measure("json, fields in the declared order", Decoding.json(ddl), ordered);
    measure("json, another order, one undeclared field", Decoding.json(ddl), shuffled);
    byte[][] body = {AvroDecoderTest.order()};
    measure("avro", Decoders.of(Map.of("format", "avro", "schema", AvroDecoderTest.ORDER)), body);
    measure("string", Decoders.of(Map.of("format", "string")), ordered);
  }

  @Test
  void creation() {
    Map<String, String> options = Map.of("format", "json", "schema", "id STRING NOT NULL, customer STRING, amount DOUBLE");
    int count = 2000;
    for (int round = 0; round < 2; round++) {
      long start = System.nanoTime();
      for (int i = 0; i < count; i++) {
        Decoders.of(options);
      }
      if (round == 1) {
        System.out.printf("decode: a json decoder is made in %.0f µs%n", (System.nanoTime() - start) / 1000.0 / count);
      }
    }
  }

  /** The time of this thread on a core: what else the machine does must not count. */
  private static long cpuNanos() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  private static void measure(String what, RecordDecoder decoder, byte[][] values) throws BadRecordException {
    Object[] out = new Object[8];
    double rate = 0;
    for (int round = 0; round < 4; round++) {
      long start = cpuNanos();
      long count = 0;
      long elapsed;
      do {
        for (int i = 0; i < DISTINCT; i++) {
          decoder.decode(null, values[i % values.length], out);
        }
        count += DISTINCT;
        elapsed = cpuNanos() - start;
      } while (elapsed < ROUND_NANOS);
      rate = count * 1e9 / elapsed;
    }
    System.out.printf("decode: %s: %.2f million records/s per core%n", what, rate / 1e6);
  }
}
