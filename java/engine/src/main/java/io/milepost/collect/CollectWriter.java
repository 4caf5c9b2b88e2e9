package io.milepost.collect;

import io.milepost.job.LiveAcks;
import io.milepost.sink.WriterId;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.python.SerDeUtil;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Keeps the rows of one task and pickles them as Spark's `collect` does, so that Python receives ordinary Rows. */
final class CollectWriter implements DataWriter<InternalRow> {
  private final StructType schema;
  private final int mostRows;
  private final WriterId id;
  private final LiveAcks acks;
  private final List<Object> kept = new ArrayList<>();
  private long rows;

  /** `acks` is null where no job observes the write. */
  CollectWriter(StructType schema, int mostRows, WriterId id, LiveAcks acks) {
    this.schema = schema;
    this.mostRows = mostRows;
    this.id = id;
    this.acks = acks;
  }

  @Override
  public void write(InternalRow row) {
    rows++;
    if (kept.size() < mostRows) {
      kept.add(EvaluatePython.toJava(row, schema, true));
    }
  }

  /** Step 5: the acknowledgement carries the rows. */
  @Override
  public WriterCommitMessage commit() {
    ArrayList<byte[]> pages = new ArrayList<>();
    if (!kept.isEmpty()) {
      EvaluatePython.registerPicklers();
      var pickler = new SerDeUtil.AutoBatchedPickler(CollectionConverters.asScala(kept.iterator()));
      while (pickler.hasNext()) {
        pages.add(pickler.next());
      }
    }
    return new CollectAck(id, rows, pages).give(acks);
  }

  @Override
  public void abort() {
    kept.clear();
  }

  @Override
  public void close() {
    kept.clear();
  }
}
