package io.milepost.checkpoint;

import io.milepost.job.Failpoint;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream;

/**
 * A file that appears complete when it is closed, and never when it is cancelled.
 *
 * <p>It is written beside its target under a name that Spark's logs ignore, forced to disk, and then given its name:
 * by a rename, which replaces, or by a hard link, which fails if the name is taken.
 */
final class AtomicFile extends CancellableFSDataOutputStream {
  private final Path target;
  private final Path temporary;
  private final FileChannel channel;
  private final boolean replace;
  private boolean ended;

  private AtomicFile(Path target, Path temporary, FileChannel channel, boolean replace) {
    super(new Unclosed(Channels.newOutputStream(channel), target));
    this.target = target;
    this.temporary = temporary;
    this.channel = channel;
    this.replace = replace;
  }

  static AtomicFile create(Path target, boolean replace) throws IOException {
    Path temporary = target.resolveSibling("." + target.getFileName() + "." + UUID.randomUUID() + ".tmp");
    FileChannel channel = FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    return new AtomicFile(target, temporary, channel, replace);
  }

  @Override
  public void close() throws IOException {
    if (ended) {
      return;
    }
    ended = true;
    try {
      super.close();
      channel.force(true);
      channel.close();
      // Hadoop's checksum of a former file of this name would condemn this one when plain Spark reads it.
      Files.deleteIfExists(target.resolveSibling("." + target.getFileName() + ".crc"));
      String step = step(target);
      Failpoint.reach(step + "-before");
      publish();
      forceDirectory(target.getParent());
      Failpoint.reach(step + "-after");
    } finally {
      channel.close();
      Files.deleteIfExists(temporary);
    }
  }

  @Override
  public void cancel() {
    if (ended) {
      return;
    }
    ended = true;
    try {
      channel.close();
      Files.deleteIfExists(temporary);
    } catch (IOException e) {
      // Nothing was published; what is left has a name that is swept at the next start.
      org.slf4j.LoggerFactory.getLogger(AtomicFile.class).warn("{} could not be removed", temporary, e);
    }
  }

  private void publish() throws IOException {
    if (replace) {
      Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      return;
    }
    try {
      Files.createLink(target, temporary);
    } catch (java.nio.file.FileAlreadyExistsException e) {
      FileAlreadyExistsException taken = new FileAlreadyExistsException(target + " already exists");
      taken.initCause(e);
      throw taken;
    }
  }

  /** The step of a checkpoint that this file is; other files have a name that no failpoint has. */
  private static String step(Path target) {
    boolean entry = target.getFileName().toString().chars().allMatch(Character::isDigit);
    String log = entry ? target.getParent().getFileName().toString() : "";
    return log.equals("offsets") ? "3-log" : log.equals("commits") ? "7-commit" : "";
  }

  /** A name is durable only when its directory is. */
  private static void forceDirectory(Path directory) throws IOException {
    try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  /** Lets the bytes through and keeps the channel open, which must be forced before it is closed. */
  private static final class Unclosed extends FilterOutputStream {
    private final Path target;

    Unclosed(OutputStream out, Path target) {
      super(out);
      this.target = target;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      try {
        out.write(bytes, offset, length);
      } catch (IOException e) { // of a full disk the channel says neither the file nor the directory
        FileSystemException named = new FileSystemException(target.toString(), null, e.getMessage());
        named.initCause(e);
        throw named;
      }
    }

    @Override
    public void close() throws IOException {
      flush();
    }
  }
}
