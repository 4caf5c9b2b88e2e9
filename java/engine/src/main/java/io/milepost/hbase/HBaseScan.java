package io.milepost.hbase;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** A scan of the whole table, a partition per region. Not a snapshot: HBase has none to give. */
final class HBaseScan implements Scan, Batch {
  private final StructType schema;
  private final HBaseOptions options;

  HBaseScan(StructType schema, HBaseOptions options) {
    this.schema = schema;
    this.options = options;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    return "milepost-hbase " + options.table().getNameAsString() + (options.raw() ? " (raw)" : "");
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    try (RegionLocator regions = HBaseConnections.shared(options).getRegionLocator(options.table())) {
      List<HRegionLocation> locations = regions.getAllRegionLocations();
      return locations.stream().map(HBaseInputPartition::of).toArray(InputPartition[]::new);
    } catch (IOException e) {
      throw new UncheckedIOException("Table '" + options.table() + "' cannot be read: " + HBaseWriteException.shown(e)
          + ". Check that HBase is up and has this table.", e);
    }
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Factory(schema, options);
  }

  /** Travels to the executors and opens a reader for each region there. */
  private record Factory(StructType schema, HBaseOptions options) implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      HBaseInputPartition region = (HBaseInputPartition) partition;
      try {
        return options.raw() ? new HBaseRawReader(options, region) : new HBasePartitionReader(options, schema, region);
      } catch (IOException e) {
        throw new UncheckedIOException("Table '" + options.table() + "' cannot be read: " + HBaseWriteException.shown(e), e);
      }
    }
  }
}
