import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Produces records at an even rate and looks for their rows in HBase, in one process, so that one clock measures both.
 *
 * <p>Arguments: bootstrap servers, quorum, topic, table, partitions, records per second, seconds to warm up, seconds to
 * measure. Prints the latencies in milliseconds, from `send` to the first scan that shows the row.
 */
public final class Latency {
  private static final byte[] FAMILY = Bytes.toBytes("d");

  private final int partitions;
  private final int total;
  private final long[] sentAt;
  private final AtomicLongArray seenAt;

  private Latency(int partitions, int total) {
    this.partitions = partitions;
    this.total = total;
    this.sentAt = new long[total];
    this.seenAt = new AtomicLongArray(total);
  }

  public static void main(String[] arguments) throws Exception {
    int partitions = Integer.parseInt(arguments[4]);
    int rate = Integer.parseInt(arguments[5]);
    int warmUp = Integer.parseInt(arguments[6]) * rate;
    int total = warmUp + Integer.parseInt(arguments[7]) * rate;
    Latency latency = new Latency(partitions, total);
    Thread[] watchers = new Thread[partitions];
    for (int partition = 0; partition < partitions; partition++) {
      int watched = partition;
      watchers[partition] = new Thread(() -> latency.watch(arguments[1], arguments[3], watched));
      watchers[partition].start();
    }
    latency.produce(arguments[0], arguments[2], rate);
    for (Thread watcher : watchers) {
      watcher.join();
    }
    latency.report(warmUp);
    System.exit(0);
  }

  private void produce(String servers, String topic, int rate) {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", servers);
    properties.put("acks", "1");
    properties.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
    properties.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties)) {
      producer.partitionsFor(topic);
      long start = System.nanoTime();
      for (int number = 0; number < total; number++) {
        long due = start + number * 1_000_000_000L / rate;
        while (System.nanoTime() < due) {
          LockSupport.parkNanos(due - System.nanoTime());
        }
        String key = key(number);
        sentAt[number] = System.nanoTime();
        producer.send(new ProducerRecord<>(topic, number % partitions, key, "{\"id\":\"" + key + "\",\"v\":" + number + "}"));
      }
    }
  }

  /** Looks again and again for the first number of a partition that was not seen yet, and for those after it. */
  private void watch(String quorum, String table, int partition) {
    Configuration configuration = HBaseConfiguration.create();
    configuration.set("hbase.zookeeper.quorum", quorum);
    try (Connection connection = ConnectionFactory.createConnection(configuration);
        Table rows = connection.getTable(TableName.valueOf(table))) {
      BitSet seen = new BitSet(total);
      for (int first = partition; first < total;) {
        look(rows, first, seen);
        while (first < total && seen.get(first)) {
          first += partitions;
        }
        LockSupport.parkNanos(1_000_000);
      }
    } catch (java.io.IOException e) {
      e.printStackTrace();
      System.exit(1);
    }
  }

  private void look(Table rows, int from, BitSet seen) throws java.io.IOException {
    Scan scan = new Scan().withStartRow(Bytes.toBytes(key(from))).withStopRow(Bytes.toBytes(from % partitions + "."))
        .addFamily(FAMILY).setLimit(2000).setCaching(2000).setReadType(Scan.ReadType.PREAD);
    try (ResultScanner scanner = rows.getScanner(scan)) {
      for (Result result : scanner) {
        int number = Integer.parseInt(new String(result.getRow(), StandardCharsets.UTF_8).substring(2));
        if (!seen.get(number)) {
          seen.set(number);
          seenAt.set(number, System.nanoTime());
        }
      }
    }
  }

  /** Rows of one partition lie side by side, in the order in which they were produced. */
  private String key(int number) {
    return String.format("%d-%09d", number % partitions, number);
  }

  private void report(int warmUp) {
    double[] millis = new double[total - warmUp];
    for (int number = warmUp; number < total; number++) {
      millis[number - warmUp] = (seenAt.get(number) - sentAt[number]) / 1e6;
    }
    Arrays.sort(millis);
    System.out.printf("p50 %.1f p90 %.1f p99 %.1f p99.9 %.1f max %.1f records %d%n", at(millis, 0.5), at(millis, 0.9),
        at(millis, 0.99), at(millis, 0.999), millis[millis.length - 1], millis.length);
  }

  private static double at(double[] sorted, double share) {
    return sorted[(int) Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
  }
}
