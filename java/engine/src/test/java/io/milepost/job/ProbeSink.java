package io.milepost.job;

import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A sink that writes nothing and notes what a sink of ours sees at its step 6; the option `probe` names the notes. */
public final class ProbeSink implements TableProvider {
  static final Map<String, Notes> NOTES = new ConcurrentHashMap<>();

  /** What one query's sink has seen, by epoch. */
  static final class Notes {
    final LiveAcks acks = new LiveAcks();
    final Map<Long, String> stores = new TreeMap<>();
    final Map<Long, String> acknowledged = new TreeMap<>();
    final List<Long> begun = new CopyOnWriteArrayList<>();
    final List<List<Long>> operators = new CopyOnWriteArrayList<>();
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType();
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new ProbeTable();
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  private static final class ProbeTable implements SupportsWrite {
    @Override
    public String name() {
      return "probe";
    }

    @Override
    @SuppressWarnings("deprecation")
    public StructType schema() {
      return new StructType();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return EnumSet.of(TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return new ProbeWriteBuilder(info.options().get("probe"));
    }
  }

  private record ProbeWriteBuilder(String probe) implements SupportsStreamingUpdateAsAppend {
    @Override
    public Write build() {
      return new Write() {
        @Override
        public StreamingWrite toStreaming() {
          return new ProbeWrite(NOTES.get(probe));
        }
      };
    }
  }

  private record ProbeWrite(Notes notes) implements StreamingWrite {
    @Override
    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
      notes.acks.begin(info.numPartitions());
      notes.begun.add(notes.acks.epoch());
      notes.operators.add(notes.acks.states());
      return new Factory(notes.acks);
    }

    @Override
    public void commit(long epoch, WriterCommitMessage[] messages) {
      notes.stores.put(epoch, StateStores.describe());
      notes.acknowledged.put(epoch, notes.acks.json());
    }

    @Override
    public void abort(long epoch, WriterCommitMessage[] messages) {}
  }

  private record Factory(LiveAcks acks) implements StreamingDataWriterFactory {
    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
      return new Writer(acks, partition, epoch);
    }
  }

  private record Done() implements WriterCommitMessage {}

  /** Fails the first attempt of partition 1 after it has acknowledged, as a lost executor would. */
  private static final class Writer implements DataWriter<InternalRow> {
    private final LiveAcks acks;
    private final int partition;
    private final long epoch;
    private int rows;

    Writer(LiveAcks acks, int partition, long epoch) {
      this.acks = acks;
      this.partition = partition;
      this.epoch = epoch;
    }

    @Override
    public void write(InternalRow row) {
      rows++;
    }

    @Override
    public WriterCommitMessage commit() {
      int attempt = TaskContext.get().attemptNumber();
      acks.add(new LiveAcks.Ack(epoch, partition, "{\"attempt\":" + attempt + ",\"rows\":" + rows + "}"));
      if (partition == 1 && attempt == 0) {
        throw new IllegalStateException("the first attempt is lost");
      }
      return new Done();
    }

    @Override
    public void abort() {}

    @Override
    public void close() {}
  }
}
