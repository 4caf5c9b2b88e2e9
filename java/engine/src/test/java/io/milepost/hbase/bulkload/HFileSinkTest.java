package io.milepost.hbase.bulkload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Changes;
import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mutation.StagedFile;
import io.milepost.sink.WriterId;
import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HFileSinkTest {
  private static final WriterId ID = new WriterId(2, 0, 77, Rows.EPOCH);
  private static final TableDescriptor TABLE = TableDescriptorBuilder.newBuilder(TableName.valueOf("orders"))
      .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes("d"))
          .setDataBlockEncoding(DataBlockEncoding.FAST_DIFF).setBloomFilterType(BloomType.ROW).build())
      .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes("e"))
          .setBloomFilterType(BloomType.NONE).build())
      .build();

  @TempDir Path directory;

  private HFileSink sink(long chunkBytes, BooleanSupplier cancelled, String... splits) throws IOException {
    byte[][] startKeys = new byte[splits.length + 1][];
    startKeys[0] = new byte[0];
    for (int i = 0; i < splits.length; i++) {
      startKeys[i + 1] = Bytes.toBytes(splits[i]);
    }
    HBaseOptions options = Rows.options("write", "bulk-load", "staging-dir", "file:" + directory,
        "bulk-load.chunk-bytes", Long.toString(chunkBytes));
    Staging staging = new Staging(options.stagingDir(), "run");
    return new HFileSink(options, BulkLoadPlan.of(staging, TABLE, startKeys), ID,
        cancelled);
  }

  private HFileSink sink(String... splits) throws IOException {
    return sink(1 << 20, () -> false, splits);
  }

  /** `family wave: cells` of each file, in order. */
  private static List<String> contents(HFileSink sink) throws IOException {
    List<String> contents = new ArrayList<>();
    for (StagedFile file : sink.staged()) {
      contents.add(file.family() + " " + file.wave() + ": " + String.join(" ", cells(file)));
      assertEquals(file.bytes(), new File(file.path().replaceFirst("^file:", "")).length());
    }
    contents.sort(null);
    return contents;
  }

  private static HFile.Reader reader(StagedFile file) throws IOException {
    Configuration configuration = new Configuration();
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path(file.path());
    FileSystem files = path.getFileSystem(configuration);
    return HFile.createReader(files, path, CacheConfig.DISABLED, true, configuration);
  }

  private static List<String> cells(StagedFile file) throws IOException {
    List<String> cells = new ArrayList<>();
    try (HFile.Reader reader = reader(file)) {
      HFileScanner scanner = reader.getScanner(new Configuration(), false, false);
      for (boolean more = scanner.seekTo(); more; more = scanner.next()) {
        cells.add(Changes.text(scanner.getCell()));
      }
    }
    return cells;
  }

  @Test
  void thereIsOneFilePerRegionAndFamily() throws IOException {
    HFileSink sink = sink("g", "m", "t");
    for (String row : new String[] {"z", "h", "a", "g", "t", "fz"}) {
      sink.add(Changes.put(row, 1, "d:v", "x"));
    }
    sink.add(Changes.put("a", 2, "e:v", "y"));
    sink.flush();
    sink.close();
    assertEquals(List.of("d 0: a/d:v@1=x fz/d:v@1=x", "d 0: g/d:v@1=x h/d:v@1=x", "d 0: t/d:v@1=x z/d:v@1=x",
        "e 0: a/e:v@2=y"), contents(sink));
    assertEquals(7, sink.sent().mutations());
    assertEquals(sink.staged().stream().mapToLong(StagedFile::bytes).sum(), sink.sent().bytes());
  }

  @Test
  void eachFullChunkIsAWaveOfItsOwn() throws IOException {
    HFileSink sink = sink(100, () -> false);
    for (String value : new String[] {"first", "second", "third"}) {
      sink.add(Changes.put("a", 1, "d:v", value + "-".repeat(100)));
    }
    sink.flush();
    String dashes = "-".repeat(100);
    assertEquals(List.of("d 0: a/d:v@1=first" + dashes, "d 1: a/d:v@1=second" + dashes, "d 2: a/d:v@1=third" + dashes),
        contents(sink));
    assertEquals(3, sink.sent().count());
  }

  @Test
  void aFileIsMadeAsItsFamilyWantsItAndCountsAsLoaded() throws IOException {
    HFileSink sink = sink();
    sink.add(Changes.put("a", 5, "d:v", "x", "e:v", "y"));
    sink.add(Changes.delete("b", 9, "d", "e"));
    sink.flush();
    assertEquals(List.of("d 0: a/d:v@5=x b/d:@9!", "e 0: a/e:v@5=y b/e:@9!"), contents(sink));
    for (StagedFile file : sink.staged()) {
      boolean isD = file.family().equals("d");
      try (HFile.Reader reader = reader(file)) {
        assertEquals(isD ? DataBlockEncoding.FAST_DIFF : DataBlockEncoding.NONE, reader.getDataBlockEncoding());
        assertEquals(isD, reader.getGeneralBloomFilterMetadata() != null);
        assertTrue(reader.getHFileInfo().containsKey(HStoreFile.BULKLOAD_TIME_KEY));
        assertTrue(reader.getHFileInfo().containsKey(HStoreFile.TIMERANGE_KEY));
      }
    }
  }

  @Test
  void abortAndAnUnfinishedCloseDeleteWhatWasWritten() throws IOException {
    for (boolean aborted : new boolean[] {true, false}) {
      HFileSink sink = sink(1, () -> false);
      sink.add(Changes.put("a", 1, "d:v", "x"));
      File folder = directory.resolve("run/7-2-77").toFile();
      assertEquals(1, folder.list().length);
      if (aborted) {
        sink.flush();
        sink.abort();
      }
      sink.close();
      assertFalse(folder.exists());
    }
  }

  @Test
  void filesOfACommittedTaskStay() throws IOException {
    HFileSink sink = sink();
    sink.add(Changes.put("a", 1, "d:v", "x"));
    sink.flush();
    sink.close();
    assertEquals(1, sink.staged().size());
    assertTrue(Arrays.asList(directory.resolve("run/7-2-77").toFile().list())
        .contains(new File(sink.staged().get(0).path()).getName()));
  }

  @Test
  void aCancelledTaskWritesNothingMore() throws IOException {
    HFileSink sink = sink(1, () -> true);
    assertThrows(InterruptedIOException.class, () -> sink.add(Changes.put("a", 1, "d:v", "x")));
    sink.abort();
    assertFalse(directory.resolve("run/7-2-77").toFile().exists());
  }

  @Test
  void anEncryptedFamilyIsRefused() {
    TableDescriptor table = TableDescriptorBuilder.newBuilder(TABLE)
        .modifyColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes("e")).setEncryptionType("AES").build())
        .build();
    IOException e = assertThrows(IOException.class,
        () -> BulkLoadPlan.of(new Staging("file:/staging", "run"), table, new byte[][] {{}}));
    assertTrue(e.getMessage().startsWith("family e of table orders is encrypted"), e.getMessage());
  }

  @Test
  void aTaskWithoutRowsHasNoFile() throws IOException {
    HFileSink sink = sink();
    sink.flush();
    sink.close();
    assertEquals(List.of(), sink.staged());
    assertFalse(directory.resolve("run").toFile().exists());
  }
}
