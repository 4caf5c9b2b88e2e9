package io.milepost.hbase.bulkload;

import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.client.RootCause;
import io.milepost.hbase.mutation.StagedFile;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.TableNotFoundException;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.tool.BulkLoadHFilesTool;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Loads the HFiles of a batch into the table, on the driver (step 6).
 *
 * <p>HBase's own tool assigns them to regions, splits a file whose region has been split, and retries where a region
 * moves. A load that fails half-way is not resumed: the batch fails, its tasks write the same cells to new files, and
 * a cell that is loaded twice is still one cell. A missing file was therefore not loaded by this job, and is an
 * error.
 */
final class HFileLoader {
  private static final long PAUSE_MILLIS = 200;

  private final HBaseOptions options;
  private final Staging staging;
  private long loadedEpoch = -1;

  HFileLoader(HBaseOptions options, Staging staging) {
    this.options = options;
    this.staging = staging;
  }

  /** Does nothing where this epoch is already loaded: Spark may commit an epoch again. */
  void load(long epoch, List<StagedFile> files) throws IOException {
    if (files.isEmpty() || epoch <= loadedEpoch) {
      return;
    }
    Configuration configuration = Staging.configuration(options);
    requireAll(staging.files(configuration), files);
    within(options.bulkLoadTimeoutMillis(), () -> {
      for (Map<byte[], List<Path>> wave : waves(files)) {
        loadWhenAvailable(configuration, wave);
      }
    });
    loadedEpoch = epoch;
    staging.files(configuration).delete(staging.folder(), true);
  }

  /** The tool refuses a table with a region that is not online, before it touches a file. A split takes a moment. */
  private void loadWhenAvailable(Configuration configuration, Map<byte[], List<Path>> wave)
      throws IOException, InterruptedException {
    Connection connection = HBaseConnections.shared(options);
    try (Admin admin = connection.getAdmin(); Table table = connection.getTable(options.table());
        RegionLocator locator = connection.getRegionLocator(options.table())) {
      while (true) {
        try {
          // Not by `bulkLoad`, which makes a connection each time.
          new BulkLoadHFilesTool(configuration).doBulkLoad(wave, admin, table, locator, false, false);
          return;
        } catch (TableNotFoundException e) {
          if (!admin.tableExists(options.table())) {
            throw e;
          }
          TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        }
      }
    }
  }

  private static void requireAll(FileSystem fileSystem, List<StagedFile> files) throws IOException {
    for (StagedFile file : files) {
      Path path = new Path(file.path());
      try {
        long found = fileSystem.getFileStatus(path).getLen();
        if (found != file.bytes()) {
          throw new IOException("HFile " + path + " has " + found + " bytes and was written with " + file.bytes()
              + ". It is not loaded; the batch is written again.");
        }
      } catch (FileNotFoundException e) {
        throw new IOException("HFile " + path + " is missing and was not loaded: another process deletes files below the staging"
            + " directory, or another driver runs on this checkpoint. Nothing of the batch is loaded; it is written again.", e);
      }
    }
  }

  /** The files of each wave by family, in the order of the waves. */
  static List<Map<byte[], List<Path>>> waves(List<StagedFile> files) {
    TreeMap<Integer, Map<byte[], List<Path>>> waves = new TreeMap<>();
    for (StagedFile file : files) {
      waves.computeIfAbsent(file.wave(), number -> new TreeMap<>(Bytes.BYTES_COMPARATOR))
          .computeIfAbsent(Bytes.toBytes(file.family()), family -> new ArrayList<>()).add(new Path(file.path()));
    }
    return List.copyOf(waves.values());
  }

  @FunctionalInterface
  private interface Work {
    void run() throws IOException, InterruptedException;
  }

  /** The tool's own retries can outlast a checkpoint, so it runs on a thread that can be abandoned. */
  private void within(long millis, Work work) throws IOException {
    FutureTask<Void> task = new FutureTask<>(() -> {
      work.run();
      return null;
    });
    Thread thread = new Thread(task, "milepost-hbase-loader");
    thread.setDaemon(true);
    thread.start();
    try {
      task.get(millis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      task.cancel(true);
      throw new IOException("The HFiles were not loaded into " + options.table() + " within " + millis / 1000
          + " s. See HBase's log, or raise checkpointing.timeout.", e);
    } catch (ExecutionException e) {
      throw new IOException("The HFiles could not be loaded into " + options.table() + ": "
          + RootCause.describe(e.getCause()), e.getCause());
    } catch (InterruptedException e) {
      task.cancel(true);
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("The job was stopped while its HFiles were loaded");
    }
  }
}
