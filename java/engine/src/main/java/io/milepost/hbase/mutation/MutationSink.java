package io.milepost.hbase.mutation;

import java.io.IOException;
import java.util.List;

/** Where a writer's changes leave for HBase. The first failure is final; what was not flushed is never sent after it. */
public interface MutationSink extends AutoCloseable {
  /** Takes a change; may wait until there is room. */
  void add(RowChange change) throws IOException;

  /** When this returns, everything added is safe, and every answer was checked. */
  void flush() throws IOException;

  /** Drops what is not sent; safe to call at any time, and again. */
  void abort();

  /** Sends nothing: what was not flushed is dropped. */
  @Override
  void close();

  /** What has been sent so far. */
  FlushStats sent();

  /** The HFiles that wait for the driver to load them; null where changes are sent as mutations. */
  default List<StagedFile> staged() {
    return null;
  }
}
