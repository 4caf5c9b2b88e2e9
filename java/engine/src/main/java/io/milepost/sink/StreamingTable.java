package io.milepost.sink;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;

/** A table that supports streaming writes only. */
final class StreamingTable implements SupportsWrite {
  private final String name;
  private final BiFunction<StructType, Map<String, String>, StreamingWrite> write;

  /** `write` creates the streaming write from the schema of the rows and the options. */
  StreamingTable(String name, BiFunction<StructType, Map<String, String>, StreamingWrite> write) {
    this.name = name;
    this.write = write;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  @SuppressWarnings("deprecation") // Spark still asks for it
  public StructType schema() {
    return new StructType();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    // An update is one more row.
    return new SupportsStreamingUpdateAsAppend() {
      @Override
      public Write build() {
        return new Write() {
          @Override
          public String description() {
            return name;
          }

          @Override
          public StreamingWrite toStreaming() {
            return write.apply(info.schema(), info.options().asCaseSensitiveMap());
          }
        };
      }
    };
  }
}
