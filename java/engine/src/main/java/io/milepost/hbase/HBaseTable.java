package io.milepost.hbase;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.read.HBaseScanBuilder;
import io.milepost.hbase.write.HBaseWriteBuilder;
import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** An HBase table as Spark sees it; contacts HBase only when it is read or written. */
final class HBaseTable implements Table, SupportsRead, SupportsWrite {
  private final StructType schema;
  private final HBaseOptions options;

  HBaseTable(StructType schema, HBaseOptions options) {
    this.schema = schema;
    this.options = options;
  }

  @Override
  public String name() {
    return "milepost-hbase " + options.table().getNameAsString();
  }

  @Override
  @SuppressWarnings("deprecation") // Spark still asks for it
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.STREAMING_WRITE,
        TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap scanOptions) {
    return new HBaseScanBuilder(schema, new HBaseOptions(scanOptions.asCaseSensitiveMap()));
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new HBaseWriteBuilder(info.schema(), new HBaseOptions(info.options().asCaseSensitiveMap()));
  }
}
