package io.milepost.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** State stores and live acknowledgements as a sink sees them at step 6 of real queries. */
class StateStoresTest {
  private static final int PARTITIONS = 2;
  private static SparkSession spark;

  @TempDir
  Path folder;

  @BeforeAll
  static void open() {
    spark = SparkSession.builder().master("local[2,2]").config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "" + PARTITIONS).getOrCreate();
  }

  @AfterAll
  static void close() {
    spark.stop();
  }

  /** Each call is one batch of a stream that reads one file per batch. */
  private void arrive(String stream, String... lines) throws Exception {
    Path input = Files.createDirectories(folder.resolve(stream));
    Path file = folder.resolve(UUID.randomUUID().toString());
    Files.write(file, List.of(lines));
    Files.move(file, input.resolve(file.getFileName() + ".json"), StandardCopyOption.ATOMIC_MOVE);
  }

  private Dataset<Row> stream(String name) throws Exception {
    Files.createDirectories(folder.resolve(name));
    return spark.readStream().schema("k STRING, t TIMESTAMP").json(folder.resolve(name).toUri().toString());
  }

  private interface Arrival {
    void run() throws Exception;
  }

  private ProbeSink.Notes run(Dataset<Row> rows, Arrival... batches) throws Exception {
    String name = UUID.randomUUID().toString();
    ProbeSink.Notes notes = new ProbeSink.Notes();
    spark.sparkContext().register(notes.acks);
    ProbeSink.NOTES.put(name, notes);
    StreamingQuery query = rows.writeStream().format(ProbeSink.class.getName()).option("probe", name).outputMode("append")
        .option("checkpointLocation", folder.resolve("checkpoint-" + name).toUri().toString()).start();
    try {
      for (Arrival batch : batches) {
        batch.run();
        query.processAllAvailable();
      }
    } finally {
      query.stop();
      ProbeSink.NOTES.remove(name);
    }
    return notes;
  }

  private static JsonNode json(String text) throws Exception {
    return new ObjectMapper().readTree(text);
  }

  private static long rows(ProbeSink.Notes notes, long epoch) throws Exception {
    return json(notes.stores.get(epoch)).get(0).get("rows").asLong();
  }

  @Test
  void aQueryWithoutStateHasNoStores() throws Exception {
    ProbeSink.Notes notes = run(stream("a").select("k"), () -> arrive("a", "{\"k\":\"x\"}"));
    assertEquals("[]", notes.stores.get(0L));
    assertEquals(List.of(List.of()), notes.operators);
  }

  @Test
  void outsideOfAStreamThereAreNone() {
    assertEquals("[]", StateStores.describe());
    assertEquals(List.of(), StateStores.operators());
  }

  @Test
  void deduplicationCountsItsKeysAtEachSeal() throws Exception {
    ProbeSink.Notes notes = run(stream("a").dropDuplicates("k"),
        () -> arrive("a", "{\"k\":\"x\"}", "{\"k\":\"y\"}", "{\"k\":\"x\"}"),
        () -> arrive("a", "{\"k\":\"z\"}", "{\"k\":\"x\"}"));
    assertEquals(2, rows(notes, 0));
    assertEquals(3, rows(notes, 1));
    JsonNode second = json(notes.stores.get(1L)).get(0);
    assertEquals("dedupe", second.get("name").asText());
    assertEquals(0, second.get("operator").asLong());
    assertEquals(PARTITIONS, second.get("instances").asLong());
    assertEquals(1, second.get("rows-updated").asLong(), "of this batch alone");
    assertTrue(second.get("bytes").asLong() > 0 && second.has("commit-ms"), second.toString());
    assertTrue(second.get("custom").has("stateOnCurrentVersionSizeBytes"), second.toString());
  }

  @Test
  void anAggregationBeforeItIsAnOperatorOfItsOwn() throws Exception {
    Dataset<Row> counts = stream("a").withWatermark("t", "1 hour")
        .groupBy(functions.window(functions.col("t"), "1 minute"), functions.col("k")).count().dropDuplicates("k");
    ProbeSink.Notes notes = run(counts, () -> arrive("a", "{\"k\":\"x\",\"t\":\"2026-01-01T00:00:00Z\"}",
        "{\"k\":\"y\",\"t\":\"2026-01-01T00:00:00Z\"}", "{\"k\":\"y\",\"t\":\"2026-01-01T00:00:30Z\"}"));
    JsonNode operators = json(notes.stores.get(0L));
    assertEquals(List.of(0L, 1L), notes.operators.get(0), "known before the first task starts");
    assertEquals(List.of("dedupe", "stateStoreSave"),
        IntStream.range(0, operators.size()).mapToObj(i -> operators.get(i).get("name").asText()).sorted().toList());
    for (JsonNode operator : operators) {
      assertEquals(operator.get("name").asText().equals("stateStoreSave") ? 2 : 0, operator.get("rows").asLong(),
          "the window is open, so nothing has left the aggregation");
    }
  }

  @Test
  void aJoinOfStreamsIsOneOperatorWithTheRowsOfBothSides() throws Exception {
    Dataset<Row> left = stream("a").withWatermark("t", "1 hour").alias("l");
    Dataset<Row> right = stream("b").withWatermark("t", "1 hour").alias("r");
    Dataset<Row> joined = left.join(right, functions.expr("l.k = r.k AND l.t = r.t")).select("l.k");
    ProbeSink.Notes notes = run(joined,
        () -> arrive("a", "{\"k\":\"x\",\"t\":\"2026-01-01T00:00:00Z\"}", "{\"k\":\"y\",\"t\":\"2026-01-01T00:00:00Z\"}"),
        () -> arrive("b", "{\"k\":\"x\",\"t\":\"2026-01-01T00:00:00Z\"}"));
    JsonNode last = json(List.copyOf(notes.stores.values()).get(notes.stores.size() - 1));
    assertEquals(1, last.size());
    assertEquals("symmetricHashJoin", last.get(0).get("name").asText());
    assertEquals(3, last.get(0).get("rows").asLong());
  }

  /** The aggregation has two stages, the broadcast a job of its own; only the writers count, and those that succeeded. */
  @Test
  void writersAreCountedInPlansOfSeveralStagesAndJobs() throws Exception {
    Dataset<Row> small = spark.range(3).selectExpr("concat('k', id) AS k", "id");
    Dataset<Row> rows = stream("a").dropDuplicates("k").join(functions.broadcast(small), "k");
    ProbeSink.Notes notes = run(rows, () -> arrive("a", "{\"k\":\"k0\"}", "{\"k\":\"k1\"}", "{\"k\":\"k1\"}"),
        () -> arrive("a", "{\"k\":\"k2\"}"));
    assertEquals(List.of(0L, 1L), notes.begun);
    for (long epoch : new long[] {0, 1}) {
      JsonNode acks = json(notes.acknowledged.get(epoch));
      assertEquals(epoch, acks.get("epoch").asLong());
      assertEquals(PARTITIONS, acks.get("writers").asInt(), "the writers of the last stage");
      assertEquals(PARTITIONS, acks.get("acknowledged").asInt());
      assertEquals(0, acks.get("acks").get(0).get("attempt").asInt());
      assertEquals(1, acks.get("acks").get(1).get("attempt").asInt(), "the attempt that succeeded");
      assertEquals(epoch == 0 ? 2 : 1,
          acks.get("acks").get(0).get("rows").asInt() + acks.get("acks").get(1).get("rows").asInt());
    }
  }

  @Test
  void twoQueriesOfOneSessionAreTwoJobs() throws Exception {
    ProbeSink.Notes[] inner = new ProbeSink.Notes[1];
    ProbeSink.Notes outer = run(stream("a").dropDuplicates("k"),
        () -> arrive("a", "{\"k\":\"x\"}", "{\"k\":\"y\"}"),
        () -> {
          inner[0] = run(stream("b").dropDuplicates("k"), () -> arrive("b", "{\"k\":\"z\"}"));
          arrive("a", "{\"k\":\"v\"}");
        });
    assertEquals(1, rows(inner[0], 0));
    assertEquals(List.of(0L), inner[0].begun);
    assertEquals(3, rows(outer, 1));
    assertEquals(PARTITIONS, json(outer.acknowledged.get(1L)).get("acknowledged").asInt());
  }
}
