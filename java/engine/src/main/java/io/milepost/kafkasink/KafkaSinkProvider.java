package io.milepost.kafkasink;

import io.milepost.sink.StreamingTable;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** `format("milepost-kafka-sink")`: takes rows of (topic STRING, key BINARY, value BINARY). */
public final class KafkaSinkProvider implements TableProvider, DataSourceRegister {
  @Override
  public String shortName() {
    return "milepost-kafka-sink";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType();
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new StreamingTable(shortName(), (rows, options) -> new KafkaStreamingWrite(new KafkaSinkOptions(options)));
  }
}
