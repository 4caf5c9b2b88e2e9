package io.milepost.sink;

import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A format that streams can write to but nothing can read; accepts any schema. */
public abstract class StreamingProvider implements TableProvider, DataSourceRegister {
  private final String name;
  private final BiFunction<StructType, Map<String, String>, StreamingWrite> write;

  /** `write` creates the streaming write from the schema of the rows and the options. */
  protected StreamingProvider(String name, BiFunction<StructType, Map<String, String>, StreamingWrite> write) {
    this.name = name;
    this.write = write;
  }

  @Override
  public final String shortName() {
    return name;
  }

  @Override
  public final StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType();
  }

  @Override
  public final boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public final Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new StreamingTable(name, write);
  }
}
