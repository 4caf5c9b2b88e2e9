package io.milepost.hbase.bulkload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Rows;
import io.milepost.hbase.mutation.StagedFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.util.Bytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The load itself is in tests/system/test_bulk_load.py, with a real HBase. */
class HFileLoaderTest {
  @TempDir Path directory;

  private Staging staging(String run) {
    return new Staging("file:" + directory, run);
  }

  private HFileLoader loader() {
    return new HFileLoader(Rows.options("write", "bulk-load", "staging-dir", "file:" + directory), staging("run"));
  }

  @Test
  void aFileThatIsGoneFailsTheBatch() {
    StagedFile gone = new StagedFile("file:" + directory + "/run/7-0-1/abc", "d", 0, 10);
    IOException e = assertThrows(IOException.class, () -> loader().load(7, List.of(gone)));
    assertTrue(e.getMessage().contains("is missing and was not loaded"), e.getMessage());
  }

  @Test
  void aFileOfAnotherLengthFailsTheBatch() throws IOException {
    Path file = Files.write(directory.resolve("abc"), new byte[9]);
    IOException e = assertThrows(IOException.class,
        () -> loader().load(7, List.of(new StagedFile("file:" + file, "d", 0, 10))));
    assertTrue(e.getMessage().contains("has 9 bytes and was written with 10"), e.getMessage());
  }

  @Test
  void aBatchWithoutFilesNeedsNoHBase() throws IOException {
    loader().load(7, List.of());
  }

  @Test
  void wavesAreLoadedInTheirOrderAndByFamily() {
    List<Map<byte[], List<org.apache.hadoop.fs.Path>>> waves = HFileLoader.waves(List.of(
        new StagedFile("/w1", "d", 1, 1), new StagedFile("/w0", "d", 0, 1), new StagedFile("/w0e", "e", 0, 1),
        new StagedFile("/w0b", "d", 0, 1)));
    assertEquals(2, waves.size());
    assertEquals("[/w0, /w0b]", waves.get(0).get(Bytes.toBytes("d")).toString());
    assertEquals("[/w0e]", waves.get(0).get(Bytes.toBytes("e")).toString());
    assertEquals("[/w1]", waves.get(1).get(Bytes.toBytes("d")).toString());
  }

  @Test
  void aRunSweepsWhatOthersHaveLeftAndKeepsItsOwn() throws IOException {
    Staging mine = staging("mine");
    mine.sweep(new Configuration()); // nothing is there yet
    Path left = Files.createDirectories(directory.resolve("theirs/7-0-1"));
    Files.write(left.resolve("abc"), new byte[9]);
    Path own = Files.createDirectories(directory.resolve("mine/0-0-1"));
    mine.sweep(new Configuration());
    assertFalse(Files.exists(directory.resolve("theirs")));
    assertTrue(Files.exists(own));
  }
}
