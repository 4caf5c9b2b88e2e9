package io.milepost.hbase.read;

import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.client.RootCause;
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

/**
 * A scan of a table, with one partition per region that has to be read. Not a snapshot: HBase does not offer one for
 * scans.
 */
final class HBaseScan implements Scan, Batch {
  private final StructType schema;
  private final StructType required;
  private final HBaseOptions options;
  private final ScanPlan plan;

  /** `schema` is that of the table, `required` the part that the query needs. */
  HBaseScan(StructType schema, StructType required, HBaseOptions options, ScanPlan plan) {
    this.schema = schema;
    this.required = required;
    this.options = options;
    this.plan = plan;
  }

  ScanPlan plan() {
    return plan;
  }

  @Override
  public StructType readSchema() {
    return required;
  }

  @Override
  public String description() {
    return "milepost-hbase " + options.table().getNameAsString() + (options.raw() ? " (raw)" : "") + plan.text();
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    try (RegionLocator regions = HBaseConnections.shared(options).getRegionLocator(options.table())) {
      List<HRegionLocation> locations = regions.getAllRegionLocations();
      return locations.stream().map(location -> HBaseInputPartition.of(location, plan))
          .filter(partition -> !partition.ranges().isEmpty()).toArray(InputPartition[]::new);
    } catch (IOException e) {
      throw new UncheckedIOException("Table '" + options.table() + "' cannot be read: " + RootCause.describe(e)
          + ". Check that HBase is up and has this table.", e);
    }
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Factory(schema, required, options, plan);
  }

  /** Serialized to the executors, where it opens a reader for each region. */
  private record Factory(StructType schema, StructType required, HBaseOptions options, ScanPlan plan)
      implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      HBaseInputPartition region = (HBaseInputPartition) partition;
      try {
        return options.raw() ? HBaseRawReader.open(options, required, region, plan)
            : new HBasePartitionReader(
                new RegionScanner(options, region, plan::scan), new RowDecoder(options, schema, required));
      } catch (IOException e) {
        throw new UncheckedIOException("Table '" + options.table() + "' cannot be read: " + RootCause.describe(e), e);
      }
    }
  }
}
