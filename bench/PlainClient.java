import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.BufferedMutatorParams;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The ceiling that mutations are held against: HBase's own client, two threads with a buffer of 8 MiB each, which puts the
 * rows of bench/sink.py out of memory: no Kafka, no decoding.
 *
 * <p>Reads "put table rows ordered|hashed" and "drop table" from its input, until that ends, and answers with the seconds that a put took.
 */
public final class PlainClient {
  private static final int THREADS = 2;
  private static final long BUFFER_BYTES = 8L << 20;
  private static final byte[] FAMILY = Bytes.toBytes("d");
  private static final byte[] CUSTOMER = Bytes.toBytes("customer");
  private static final byte[] AMOUNT = Bytes.toBytes("amount");
  private static final byte[] STATUS = Bytes.toBytes("status");
  private static final byte[] OPEN = Bytes.toBytes("open");

  public static void main(String[] args) throws Exception {
    Configuration configuration = HBaseConfiguration.create();
    configuration.set("hbase.zookeeper.quorum", args[0]);
    configuration.set("hbase.zookeeper.property.clientPort", args[0].substring(args[0].lastIndexOf(':') + 1));
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try (Connection connection = ConnectionFactory.createConnection(configuration)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] words = line.split(" ");
        TableName table = TableName.valueOf(words[1]);
        if (words[0].equals("put")) {
          IntFunction<byte[]> keys = words[3].equals("ordered") ? PlainClient::ordered : PlainClient::hashed;
          System.out.println(seconds(threads, connection, table, Integer.parseInt(words[2]), keys));
        } else {
          drop(connection, table);
        }
      }
    }
    threads.shutdown();
  }

  private static void drop(Connection connection, TableName table) throws Exception {
    try (Admin admin = connection.getAdmin()) {
      admin.disableTable(table);
      admin.deleteTable(table);
    }
    System.out.println("dropped");
  }

  private static double seconds(ExecutorService threads, Connection connection, TableName table, int rows,
      IntFunction<byte[]> keys) throws Exception {
    long started = System.nanoTime();
    List<Callable<Void>> shares = new ArrayList<>();
    for (int share = 0; share < THREADS; share++) {
      int first = share;
      shares.add(() -> write(connection, table, first, rows, keys));
    }
    for (Future<Void> share : threads.invokeAll(shares)) {
      share.get();
    }
    return (System.nanoTime() - started) / 1e9;
  }

  private static Void write(Connection connection, TableName table, int first, int rows, IntFunction<byte[]> keys)
      throws Exception {
    BufferedMutatorParams params = new BufferedMutatorParams(table).writeBufferSize(BUFFER_BYTES);
    try (BufferedMutator mutator = connection.getBufferedMutator(params)) {
      for (int number = first; number < rows; number += THREADS) {
        long version = number / THREADS;
        Put put = new Put(keys.apply(number));
        put.addColumn(FAMILY, CUSTOMER, version, Bytes.toBytes("customer-" + number % 9973));
        put.addColumn(FAMILY, AMOUNT, version, Bytes.toBytes(number / 100.0));
        put.addColumn(FAMILY, STATUS, version, OPEN);
        mutator.mutate(put);
      }
    }
    return null;
  }

  // Digit by digit: String.format would cost more than the put.
  private static byte[] ordered(int number) {
    byte[] key = Bytes.toBytes("order-00000000");
    for (int i = key.length - 1, rest = number; rest > 0; i--, rest /= 10) {
      key[i] += (byte) (rest % 10);
    }
    return key;
  }

  private static byte[] hashed(int number) {
    byte[] key = Bytes.toBytes("00000000");
    int rest = (int) (number * 2654435761L);
    for (int i = key.length - 1; i >= 0; i--, rest >>>= 4) {
      key[i] = (byte) "0123456789abcdef".charAt(rest & 15);
    }
    return key;
  }

  private PlainClient() {}
}
