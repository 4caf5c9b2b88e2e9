package io.milepost.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What Spark expects of a CheckpointFileManager. */
class LocalCheckpointFileManagerTest {
  @TempDir
  java.nio.file.Path folder;
  private Path root;
  private LocalCheckpointFileManager manager;

  @BeforeEach
  void open() throws IOException {
    root = new Path(new Path(folder.toUri()), "with space");
    manager = new LocalCheckpointFileManager(root, new Configuration(false));
    manager.createCheckpointDirectory();
  }

  @Test
  void theDirectoryIsQualifiedAndThere() {
    Path created = manager.createCheckpointDirectory();
    assertEquals("file", created.toUri().getScheme());
    assertTrue(manager.exists(root));
    assertTrue(manager.isLocal());
  }

  @Test
  void aFileIsThereWhenItIsClosedAndNotBefore() throws IOException {
    CancellableFSDataOutputStream out = manager.createAtomic(path("0"), false);
    out.write(bytes("v1"));
    assertFalse(manager.exists(path("0")));
    out.close();
    assertEquals("v1", read("0"));
    assertEquals(List.of("0"), names());
  }

  @Test
  void aCancelledFileNeverWas() throws IOException {
    CancellableFSDataOutputStream out = manager.createAtomic(path("0"), false);
    out.write(bytes("v1"));
    out.cancel();
    out.close();
    assertEquals(List.of(), names());
  }

  @Test
  void closingTwiceIsClosingOnce() throws IOException {
    CancellableFSDataOutputStream out = manager.createAtomic(path("0"), false);
    out.write(bytes("v1"));
    out.close();
    out.close();
    out.cancel();
    assertEquals("v1", read("0"));
  }

  @Test
  void anExclusiveCreateFailsWhenTheNameIsTaken() throws IOException {
    write("0", "first", false);
    assertThrows(FileAlreadyExistsException.class, () -> write("0", "second", false));
    assertEquals("first", read("0"));
    assertEquals(List.of("0"), names());
  }

  @Test
  void anOverwriteReplacesTheWholeFile() throws IOException {
    write("0", "a long first text", true);
    write("0", "short", true);
    assertEquals("short", read("0"));
  }

  @Test
  void ofManyDriversExactlyOneGetsTheName() throws Exception {
    ExecutorService drivers = Executors.newFixedThreadPool(8);
    try {
      Callable<Boolean> driver = () -> {
        try {
          write("7", Thread.currentThread().getName(), false);
          return true;
        } catch (FileAlreadyExistsException e) {
          return false;
        }
      };
      long winners = 0;
      for (Future<Boolean> result : drivers.invokeAll(java.util.Collections.nCopies(50, driver))) {
        winners += result.get() ? 1 : 0;
      }
      assertEquals(1, winners);
      assertEquals(List.of("7"), names());
    } finally {
      drivers.shutdownNow();
    }
  }

  @Test
  void aChecksumOfAFormerFileIsRemoved() throws IOException {
    java.nio.file.Path stale = Files.writeString(local().resolve(".0.crc"), "old");
    write("0", "new", true);
    assertFalse(Files.exists(stale));
  }

  @Test
  void listingFiltersAndSorts() throws IOException {
    for (String name : new String[] {"b", "a", "c"}) {
      write(name, name, false);
    }
    FileStatus[] found = manager.list(root, path -> !path.getName().equals("b"));
    assertArrayEquals(new String[] {"a", "c"},
        Arrays.stream(found).map(status -> status.getPath().getName()).toArray());
  }

  @Test
  void whatIsMissingIsAFileNotFound() {
    assertThrows(FileNotFoundException.class, () -> manager.open(path("9")));
    assertThrows(FileNotFoundException.class, () -> manager.list(path("nowhere"), path -> true));
  }

  @Test
  void deletingWhatIsGoneIsNoError() throws IOException {
    manager.delete(path("9"));
    manager.mkdirs(path("a/b"));
    write("a/b/0", "x", false);
    manager.delete(path("a"));
    assertFalse(manager.exists(path("a")));
  }

  @Test
  void anotherFileSystemIsRefused() {
    assertThrows(IllegalArgumentException.class,
        () -> new LocalCheckpointFileManager(new Path("hdfs://nn/x"), new Configuration(false)));
  }

  private Path path(String name) {
    return new Path(root, name);
  }

  private java.nio.file.Path local() {
    return folder.resolve("with space");
  }

  private List<String> names() throws IOException {
    try (var paths = Files.list(local())) {
      return paths.map(path -> path.getFileName().toString()).sorted().toList();
    }
  }

  private void write(String name, String text, boolean overwrite) throws IOException {
    try (CancellableFSDataOutputStream out = manager.createAtomic(path(name), overwrite)) {
      out.write(bytes(text));
    }
  }

  private String read(String name) throws IOException {
    try (FSDataInputStream in = manager.open(path(name))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
