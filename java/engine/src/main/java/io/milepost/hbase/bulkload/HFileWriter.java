package io.milepost.hbase.bulkload;

import io.milepost.hbase.mutation.StagedFile;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.regionserver.StoreFileWriter;
import org.apache.hadoop.hbase.regionserver.StoreUtils;
import org.apache.hadoop.hbase.util.Bytes;

/** Writes sorted rows to one HFile per region and family, with the settings of the family. Not thread safe. */
final class HFileWriter implements CellChunk.RowSink {
  private final Configuration configuration;
  private final FileSystem files;
  private final Path folder;
  private final TableDescriptor table;
  private final byte[][] startKeys;
  private final int wave;
  private final List<StagedFile> written = new ArrayList<>();
  private final Map<String, StoreFileWriter> open = new HashMap<>();

  // The cells of one family are adjacent, so the last writer is kept.
  private byte[] family;
  private StoreFileWriter writer;
  private int nextRegion;

  HFileWriter(Configuration configuration, FileSystem files, Path folder, BulkLoadPlan plan, int wave) {
    this.configuration = configuration;
    this.files = files;
    this.folder = folder;
    this.table = plan.table();
    this.startKeys = plan.startKeys();
    this.wave = wave;
  }

  @Override
  public void accept(KeyValue[] cells) throws IOException {
    KeyValue first = cells[0];
    if (nextRegion < startKeys.length && compareRow(first, startKeys[nextRegion]) >= 0) {
      roll();
      while (nextRegion < startKeys.length && compareRow(first, startKeys[nextRegion]) >= 0) {
        nextRegion++;
      }
    }
    for (KeyValue cell : cells) {
      if (family == null || !CellUtil.matchingFamily(cell, family)) {
        family = CellUtil.cloneFamily(cell);
        writer = writer(family);
      }
      writer.append(cell);
    }
  }

  /** Completes the last files; returns all files written. */
  List<StagedFile> finish() throws IOException {
    roll();
    return written;
  }

  private void roll() throws IOException {
    for (Map.Entry<String, StoreFileWriter> each : open.entrySet()) {
      StoreFileWriter done = each.getValue();
      // Marks a bulk-loaded file for HBase; its cells get the sequence id of the load.
      done.appendFileInfo(HStoreFile.BULKLOAD_TIME_KEY, Bytes.toBytes(System.currentTimeMillis()));
      done.appendFileInfo(HStoreFile.BULKLOAD_TASK_KEY, Bytes.toBytes(folder.getName()));
      done.appendFileInfo(HStoreFile.MAJOR_COMPACTION_KEY, Bytes.toBytes(false));
      done.appendFileInfo(HStoreFile.EXCLUDE_FROM_MINOR_COMPACTION_KEY, Bytes.toBytes(false));
      done.appendTrackedTimestampsToMetadata();
      done.close();
      Path path = done.getPath();
      written.add(new StagedFile(path.toString(), each.getKey(), wave, files.getFileStatus(path).getLen()));
    }
    open.clear();
    family = null;
  }

  private StoreFileWriter writer(byte[] name) throws IOException {
    String key = Bytes.toString(name);
    StoreFileWriter known = open.get(key);
    if (known != null) {
      return known;
    }
    ColumnFamilyDescriptor descriptor = table.getColumnFamily(name);
    if (descriptor == null) {
      throw new IOException("Table " + table.getTableName() + " no longer has column family " + key);
    }
    HFileContext context = new HFileContextBuilder().withCompression(descriptor.getCompressionType())
        .withDataBlockEncoding(descriptor.getDataBlockEncoding()).withBlockSize(descriptor.getBlocksize())
        .withChecksumType(StoreUtils.getChecksumType(configuration))
        .withBytesPerCheckSum(StoreUtils.getBytesPerChecksum(configuration))
        .withColumnFamily(name).withTableName(table.getTableName().getName())
        .withCreateTime(System.currentTimeMillis()).build();
    // A region server stages the files of many loads in one folder, by name.
    Path path = new Path(folder, UUID.randomUUID().toString().replace("-", ""));
    StoreFileWriter fresh = new StoreFileWriter.Builder(configuration, CacheConfig.DISABLED, files).withFilePath(path)
        .withBloomType(descriptor.getBloomFilterType()).withFileContext(context).build();
    open.put(key, fresh);
    return fresh;
  }

  private static int compareRow(KeyValue cell, byte[] row) {
    return Bytes.compareTo(cell.getRowArray(), cell.getRowOffset(), cell.getRowLength(), row, 0, row.length);
  }
}
