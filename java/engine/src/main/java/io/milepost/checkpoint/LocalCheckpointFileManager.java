package io.milepost.checkpoint;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;

/**
 * Spark's checkpoint files on a local file system, by `java.nio`.
 *
 * <p>Hadoop's own local file system starts a child process for each permission it sets, twice per log file: 56 ms where
 * this takes 3. What Spark relies on stays: a file is there whole or not at all, and an exclusive create fails when the
 * file is there, which is how a second driver is detected. Spark takes the class by its name in
 * `spark.sql.streaming.checkpointFileManagerClass`.
 */
public final class LocalCheckpointFileManager implements CheckpointFileManager {
  private final Path root;
  private final RawLocalFileSystem files = new RawLocalFileSystem();

  /** Called by Spark. */
  public LocalCheckpointFileManager(Path root, Configuration configuration) throws IOException {
    String scheme = root.toUri().getScheme();
    if (scheme != null && !scheme.equals("file")) {
      throw new IllegalArgumentException(root + " is not on a local file system; leave "
          + "spark.sql.streaming.checkpointFileManagerClass unset for it");
    }
    this.root = root;
    files.initialize(URI.create("file:///"), configuration);
  }

  @Override
  public CancellableFSDataOutputStream createAtomic(Path path, boolean overwriteIfPossible) {
    return LocalCheckpointFileManager.<CancellableFSDataOutputStream, RuntimeException>sneak(
        () -> AtomicFile.create(local(path), overwriteIfPossible));
  }

  @Override
  public FSDataInputStream open(Path path) {
    return LocalCheckpointFileManager.<FSDataInputStream, RuntimeException>sneak(() -> files.open(path));
  }

  @Override
  public FileStatus[] list(Path path, PathFilter filter) {
    return LocalCheckpointFileManager.<FileStatus[], RuntimeException>sneak(() -> {
      FileStatus[] found = files.listStatus(path, filter);
      Arrays.sort(found);
      return found;
    });
  }

  @Override
  public void mkdirs(Path path) {
    LocalCheckpointFileManager.<Object, RuntimeException>sneak(() -> Files.createDirectories(local(path)));
  }

  @Override
  public boolean exists(Path path) {
    return Files.exists(local(path));
  }

  @Override
  public void delete(Path path) {
    LocalCheckpointFileManager.<Object, RuntimeException>sneak(() -> {
      try {
        return files.delete(path, true);
      } catch (FileNotFoundException e) {
        return false; // gone is what was wanted
      }
    });
  }

  @Override
  public boolean isLocal() {
    return true;
  }

  @Override
  public Path createCheckpointDirectory() {
    Path qualified = files.makeQualified(root);
    mkdirs(qualified);
    return qualified;
  }

  private static java.nio.file.Path local(Path path) {
    return java.nio.file.Path.of(path.toUri().getPath());
  }

  private interface Action<T> {
    T run() throws IOException;
  }

  /** Scala declares no exceptions, and Spark catches an IOException as what it is: it must not be wrapped. */
  @SuppressWarnings("unchecked")
  private static <T, E extends Throwable> T sneak(Action<T> action) throws E {
    try {
      return action.run();
    } catch (IOException e) {
      throw (E) e;
    }
  }
}
