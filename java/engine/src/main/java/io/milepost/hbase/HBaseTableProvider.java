package io.milepost.hbase;

import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.read.HBaseRawReader;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** `format("milepost-hbase")`: the entry point of the data source. */
public final class HBaseTableProvider implements TableProvider, DataSourceRegister {
  @Override
  public String shortName() {
    return "milepost-hbase";
  }

  /** Called by Spark only where no schema was given. */
  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    if (new HBaseOptions(options.asCaseSensitiveMap()).raw()) {
      return HBaseRawReader.SCHEMA;
    }
    throw new IllegalArgumentException("Reading an HBase table needs a schema, because HBase stores bytes without types."
        + " Call .schema(\"id STRING, amount DOUBLE\") before .load(), or set the option raw to true for its cells.");
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> options) {
    return new HBaseTable(schema, new HBaseOptions(options));
  }
}
