package io.milepost.kafka;

import io.milepost.kafka.reader.RecordSchema;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** `spark.readStream.format("milepost-kafka")`: Spark's Kafka source with a gate and a decoder. */
public final class GatedKafkaProvider implements TableProvider, DataSourceRegister {
  private final KafkaSourceProvider kafka = new KafkaSourceProvider();

  @Override
  public String shortName() {
    return "milepost-kafka";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return RecordSchema.of(options.asCaseSensitiveMap());
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new GatedKafkaTable(kafka.getTable(new CaseInsensitiveStringMap(properties)), properties);
  }
}
