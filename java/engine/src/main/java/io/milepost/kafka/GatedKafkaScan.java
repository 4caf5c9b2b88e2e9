package io.milepost.kafka;

import io.milepost.job.Job;
import io.milepost.job.Jobs;
import io.milepost.kafka.reader.DecodingReaderFactory;
import io.milepost.kafka.reader.RecordSchema;
import java.util.Map;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;

/** One read of the topics: as a gated stream for a job, or as a plain batch for verification. */
final class GatedKafkaScan implements Scan {
  private final Scan kafka;
  private final Map<String, String> options;

  GatedKafkaScan(Scan kafka, Map<String, String> options) {
    this.kafka = kafka;
    this.options = options;
  }

  @Override
  public StructType readSchema() {
    return RecordSchema.of(options);
  }

  @Override
  public String description() {
    return "milepost-kafka[" + kafka.description() + "]";
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return kafka.columnarSupportMode();
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return kafka.supportedCustomMetrics();
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
    Job job = Jobs.of(options.get("job"));
    return new GatedKafkaStream(checkpointLocation, kafka.toMicroBatchStream(checkpointLocation), job, options);
  }

  @Override
  public Batch toBatch() {
    Batch batch = kafka.toBatch();
    return new Batch() {
      @Override
      public InputPartition[] planInputPartitions() {
        return batch.planInputPartitions();
      }

      @Override
      public PartitionReaderFactory createReaderFactory() {
        return new DecodingReaderFactory(batch.createReaderFactory(), options, null);
      }
    };
  }
}
