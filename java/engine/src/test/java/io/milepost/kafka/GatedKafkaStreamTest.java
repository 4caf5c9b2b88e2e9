package io.milepost.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.milepost.job.Job;
import io.milepost.job.Jobs;
import java.lang.reflect.Proxy;
import java.util.Map;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class GatedKafkaStreamTest {
  private static final String ID = "gated-kafka-stream-test";
  private static final Offset START = new Text("{\"t\":{\"0\":0}}");
  private static final Offset END = new Text("{\"t\":{\"0\":7}}");

  private Job job;
  private GatedKafkaStream stream;

  private static final class Text extends Offset {
    private final String json;

    Text(String json) {
      this.json = json;
    }

    @Override
    public String json() {
      return json;
    }
  }

  /** Like Spark's own: what is the newest offset is not known before it was asked for. */
  private static MicroBatchStream kafka() {
    Offset[] newest = new Offset[1];
    return (MicroBatchStream) Proxy.newProxyInstance(GatedKafkaStreamTest.class.getClassLoader(),
        new Class<?>[] {MicroBatchStream.class, SupportsAdmissionControl.class}, (proxy, method, arguments) -> {
          switch (method.getName()) {
            case "latestOffset":
              newest[0] = END;
              return END;
            case "reportLatestOffset":
              newest[0].json();
              return newest[0];
            default:
              return null;
          }
        });
  }

  @BeforeEach
  void open() {
    job = Jobs.create(ID);
    stream = new GatedKafkaStream("source", kafka(), job,
        Map.of("kafka.bootstrap.servers", "127.0.0.1:1", "subscribe", "t"));
  }

  @AfterEach
  void close() {
    stream.stop();
    Jobs.remove(ID);
  }

  @Test
  void theNewestOffsetIsNotKnownBeforeTheGateWasOpenOnce() {
    assertEquals(START, stream.latestOffset(START, ReadLimit.allAvailable()));
    assertNull(stream.reportLatestOffset());
    job.gate().open();
    assertEquals(END, stream.latestOffset(START, ReadLimit.allAvailable()));
    assertEquals(END, stream.reportLatestOffset());
    assertEquals(END, stream.latestOffset(END, ReadLimit.allAvailable()));
    assertEquals(END, stream.reportLatestOffset());
  }
}
