package io.milepost.hbase.write;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.milepost.hbase.Rows;
import io.milepost.hbase.read.HBaseRawReader;
import io.milepost.hbase.read.HBaseScanBuilder;
import io.milepost.kafka.reader.RecordSchema;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class HBaseWriteBuilderTest {
  private static final StructType SCHEMA = Rows.schema(DataTypes.LongType);
  private static final StructType PLAIN = new StructType().add("id", DataTypes.StringType).add("v", DataTypes.LongType);

  private static void refused(String part, StructType schema, String... pairs) {
    Rows.assertRefused(part, () -> new HBaseWriteBuilder(schema, Rows.options(pairs)).build());
  }

  @Test
  void goodOptionsMakeAStream() {
    HBaseWriteBuilder builder = new HBaseWriteBuilder(SCHEMA, Rows.options("op", "op"));
    assertInstanceOf(SupportsStreamingUpdateAsAppend.class, builder);
    StreamingWrite stream = builder.build().toStreaming();
    assertFalse(stream.useCommitCoordinator());
  }

  @Test
  void columnsMustBeThere() {
    refused("'row-key' names column 'key'", SCHEMA, "row-key", "[\"key\"]");
    refused("'columns' names column 'amount'", SCHEMA, "columns", "{\"d\":[\"amount\"]}");
    refused("Did you mean 'id'?", SCHEMA, "row-key", "[\"ID\"]");
    refused("'op' names column 'kind'", SCHEMA, "op", "kind");
    refused("'version' names column 'n'", SCHEMA, "version", "column:n");
  }

  @Test
  void typesMustFit() {
    StructType nested = Rows.schema(DataTypes.createArrayType(DataTypes.LongType));
    refused("no native encoding", nested);
    new HBaseWriteBuilder(nested, Rows.options("encoding", "json")).build();
    new HBaseWriteBuilder(nested, Rows.options("encoding", "string")).build();
    refused("cannot be part of the row key", nested, "row-key", "[\"v\"]", "encoding", "json");
    refused("Operation column 'v' is BIGINT", SCHEMA, "op", "v");
    refused("Version column 'id' is STRING", SCHEMA, "version", "column:id");
  }

  @Test
  void aVersionMustBePossible() {
    refused("Version 'offset', the default, needs each row's Kafka record", PLAIN);
    refused("Version 'timestamp' needs each row's Kafka record", PLAIN, "version", "timestamp");
    new HBaseWriteBuilder(PLAIN, Rows.options("version", "checkpoint")).build().toStreaming();
    new HBaseWriteBuilder(PLAIN, Rows.options("version", "column:v")).build().toBatch();
    new HBaseWriteBuilder(PLAIN, Rows.options("version", "server-time")).build().toStreaming();
    new HBaseWriteBuilder(PLAIN, Rows.options("version", "server-time")).build().toBatch();
    Rows.assertRefused("does not fit a batch write",
        () -> new HBaseWriteBuilder(PLAIN, Rows.options("version", "checkpoint")).build().toBatch());
  }

  @Test
  void hfilesMustBePossible() {
    String[] staging = {"write", "bulk-load", "staging-dir", "file:/staging"};
    new HBaseWriteBuilder(SCHEMA, Rows.options(staging)).build().toStreaming();
    Rows.assertRefused("does not fit a batch write", () -> new HBaseWriteBuilder(SCHEMA, Rows.options(staging)).build().toBatch());
    refused("'staging-dir' is missing", SCHEMA, "write", "bulk-load");
    refused("'write' cannot be 'hfiles'", SCHEMA, "write", "hfiles");
    refused("'write' cannot be 'bulk-load': with version server-time", SCHEMA, "write", "bulk-load", "staging-dir", "file:/s",
        "version", "server-time");
    refused("only a Milepost job knows how large a batch is", SCHEMA, "write", "auto", "staging-dir", "file:/s");
    new HBaseWriteBuilder(SCHEMA, Rows.options("write", "auto", "staging-dir", "file:/s", "job", "j")).build().toStreaming();
  }

  @Test
  void aColumnThatOnlySharesTheNameIsNotTheRecord() {
    StructType other = PLAIN.add(RecordSchema.KAFKA, DataTypes.StringType);
    refused("needs each row's Kafka record", other);
  }

  @Test
  void aReaderNeedsColumnsThatAreMapped() {
    Rows.assertRefused("neither in the option 'row-key' nor in 'columns'",
        () -> new HBaseScanBuilder(SCHEMA, Rows.options()).build());
    new HBaseScanBuilder(PLAIN, Rows.options()).build();
    Rows.assertRefused("their schema is fixed", () -> new HBaseScanBuilder(PLAIN, Rows.options("raw", "true")).build());
    new HBaseScanBuilder(HBaseRawReader.SCHEMA, Rows.options("raw", "true")).build();
  }
}
