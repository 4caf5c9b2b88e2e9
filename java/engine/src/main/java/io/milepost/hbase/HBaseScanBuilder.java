package io.milepost.hbase;

import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;

/** Refuses, before anything runs, a schema that the table's cells cannot fill. */
final class HBaseScanBuilder implements ScanBuilder {
  private final StructType schema;
  private final HBaseOptions options;

  HBaseScanBuilder(StructType schema, HBaseOptions options) {
    this.schema = schema;
    this.options = options;
  }

  @Override
  public Scan build() {
    options.table();
    HBaseConnections.configuration(options);
    if (!options.raw()) {
      // Also makes the decoders, so that a type which cannot be read back is refused here.
      new RowDecoder(options, schema);
    } else if (!schema.asNullable().equals(HBaseRawReader.SCHEMA.asNullable())) {
      throw new IllegalArgumentException("With raw=true the rows are cells, and their schema is fixed: "
          + HBaseRawReader.SCHEMA.toDDL() + ". Leave .schema(…) out.");
    }
    return new HBaseScan(schema, options);
  }
}
