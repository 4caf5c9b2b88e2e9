package io.milepost.hbase.bulkload;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mutation.FlushStats;
import io.milepost.hbase.mutation.MutationSink;
import io.milepost.hbase.mutation.RowChange;
import io.milepost.hbase.mutation.StagedFile;
import io.milepost.sink.WriterId;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the changes of a task to HFiles, which the driver loads when every task has acknowledged. Does not contact
 * HBase.
 *
 * <p>Rows are collected in a chunk, sorted and folded there, and written when it is full: each chunk is a wave of
 * files.
 */
public final class HFileSink implements MutationSink {
  private static final Logger LOG = LoggerFactory.getLogger(HFileSink.class);

  private final Configuration configuration;
  private final FileSystem files;
  private final Path folder;
  private final BulkLoadPlan plan;
  private final BooleanSupplier cancelled;
  private final CellChunk chunk;
  private final List<StagedFile> staged = new ArrayList<>();
  private int waves;
  private long cells;
  private long nanos;
  private boolean complete;

  public HFileSink(HBaseOptions options, BulkLoadPlan plan, WriterId id, BooleanSupplier cancelled) throws IOException {
    this.configuration = Staging.configuration(options);
    this.files = plan.staging().files(configuration);
    this.folder = plan.staging().task(id);
    this.plan = plan;
    this.cancelled = cancelled;
    this.chunk = new CellChunk(options.bulkLoadChunkBytes());
  }

  @Override
  public void add(RowChange change) throws IOException {
    chunk.add(change);
    if (chunk.isFull()) {
      writeWave();
    }
  }

  @Override
  public void flush() throws IOException {
    if (!chunk.isEmpty()) {
      writeWave();
    }
    complete = true;
  }

  private void writeWave() throws IOException {
    if (cancelled.getAsBoolean()) {
      throw new InterruptedIOException("The task was cancelled; its HFiles are deleted");
    }
    long start = System.nanoTime();
    HFileWriter roll = new HFileWriter(configuration, files, folder, plan, waves++);
    chunk.drainTo(row -> {
      roll.accept(row);
      cells += row.length;
    });
    staged.addAll(roll.finish());
    nanos += System.nanoTime() - start;
  }

  /** Deletes what was written. A file that remains is never loaded, and the next batch removes it. */
  @Override
  public void abort() {
    complete = false;
    close();
  }

  @Override
  public void close() {
    chunk.clear();
    if (complete) {
      return;
    }
    try {
      files.delete(folder, true);
    } catch (IOException e) {
      LOG.warn("The HFiles of a failed task could not be deleted from {}", folder, e);
    }
  }

  @Override
  public FlushStats sent() {
    long bytes = staged.stream().mapToLong(StagedFile::bytes).sum();
    return new FlushStats(cells, bytes, waves, TimeUnit.NANOSECONDS.toMillis(nanos), 0, 0);
  }

  @Override
  public List<StagedFile> staged() {
    return List.copyOf(staged);
  }
}
