package io.milepost.kafka;

import io.milepost.kafka.reader.RecordSchema;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Spark's Kafka table with the schema of our decoder. */
final class GatedKafkaTable implements Table, SupportsRead {
  private final Table kafka;
  private final Map<String, String> options;

  GatedKafkaTable(Table kafka, Map<String, String> options) {
    this.kafka = kafka;
    this.options = Map.copyOf(options);
  }

  @Override
  public String name() {
    return "milepost-kafka";
  }

  @Override
  public Column[] columns() {
    return Arrays.stream(RecordSchema.of(options).fields())
        .map(field -> Column.create(field.name(), field.dataType(), field.nullable()))
        .toArray(Column[]::new);
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.MICRO_BATCH_READ, TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap scanOptions) {
    return () -> new GatedKafkaScan(((SupportsRead) kafka).newScanBuilder(scanOptions).build(), options);
  }
}
