package io.milepost.hbase.bulkload;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.client.RootCause;
import io.milepost.hbase.mutation.StagedFile;
import io.milepost.job.Jobs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Decides whether a batch is written as HFiles, and loads them. Created with Spark's write, once per batch. */
public final class BulkLoad {
  private static final Logger LOG = LoggerFactory.getLogger(BulkLoad.class);

  private final HBaseOptions options;
  private final Staging staging;
  private final HFileLoader loader;

  public BulkLoad(HBaseOptions options) {
    this.options = options;
    boolean possible = options.write() != HBaseOptions.Write.MUTATIONS;
    this.staging = possible ? new Staging(options.stagingDir(), UUID.randomUUID().toString()) : null;
    this.loader = possible ? new HFileLoader(options, staging) : null;
  }

  /** What the tasks need to write HFiles; null where they send mutations. */
  public BulkLoadPlan plan() {
    if (staging == null || !isWorthwhile()) {
      return null;
    }
    try {
      staging.sweep(Staging.configuration(options));
      return BulkLoadPlan.of(options, staging);
    } catch (IOException e) {
      throw new UncheckedIOException("HFiles cannot be written: " + RootCause.describe(e), e);
    }
  }

  private boolean isWorthwhile() {
    if (options.write() == HBaseOptions.Write.BULK_LOAD) {
      return true;
    }
    return Jobs.of(options.job()).takePlannedRecords() >= options.bulkLoadFrom();
  }

  /** Step 6: when this returns, every cell of the epoch can be read. */
  public void load(long epoch, List<StagedFile> files) {
    if (loader == null) {
      return;
    }
    try {
      loader.load(epoch, files);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Deletes the HFiles of a failed batch. */
  public void discard() {
    if (staging == null) {
      return;
    }
    try {
      staging.files(Staging.configuration(options)).delete(staging.folder(), true);
    } catch (IOException e) {
      LOG.warn("The HFiles of a failed batch remain in {} until the next batch", staging.folder(), e);
    }
  }
}
