package io.milepost.hbase.bulkload;

import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.sink.WriterId;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.Serializable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkEnv;
import scala.Tuple2;

/**
 * The directory that holds HFiles until they are loaded: `staging-dir/<run>/<epoch>-<partition>-<task>/<file>`.
 *
 * <p>A run is one attempt of one batch and owns its folder exclusively, so a later run may remove all others: a
 * driver that was paused in between finds its files missing and fails, and never loads a part of them.
 */
record Staging(String root, String run) implements Serializable {
  /** The folder that the tasks of this run write to. */
  Path folder() {
    return new Path(root, run);
  }

  /** The folder of one attempt of one task; speculative attempts have different numbers. */
  Path task(WriterId id) {
    return new Path(folder(), id.epoch() + "-" + id.partition() + "-" + id.task());
  }

  /** Deletes the files of earlier runs. */
  void sweep(Configuration configuration) throws IOException {
    FileSystem files = files(configuration);
    try {
      for (FileStatus found : files.listStatus(new Path(root))) {
        if (!found.getPath().getName().equals(run)) {
          files.delete(found.getPath(), true);
        }
      }
    } catch (FileNotFoundException e) {
      // This is the first run.
    }
  }

  FileSystem files(Configuration configuration) throws IOException {
    FileSystem files = new Path(root).getFileSystem(configuration);
    // HFiles have checksums of their own, and HBase reads a local disk without Hadoop's too.
    return files instanceof LocalFileSystem local ? local.getRaw() : files;
  }

  /** HBase's configuration with Spark's settings for file systems. */
  static Configuration configuration(HBaseOptions options) {
    Configuration configuration = HBaseConnections.configuration(options);
    SparkEnv spark = SparkEnv.get();
    if (spark != null) {
      for (Tuple2<String, String> entry : spark.conf().getAllWithPrefix("spark.hadoop.")) {
        configuration.set(entry._1(), entry._2());
      }
    }
    return configuration;
  }
}
