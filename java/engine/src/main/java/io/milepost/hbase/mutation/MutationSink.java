package io.milepost.hbase.mutation;

import java.io.IOException;
import java.util.List;

/**
 * Takes the changes of one writer and delivers them to HBase. The first failure is final: what was not flushed is
 * never sent after it.
 */
public interface MutationSink extends AutoCloseable {
  /** Adds a change; may wait until there is room. */
  void add(RowChange change) throws IOException;

  /** When this returns, everything added is durable and every answer was checked. */
  void flush() throws IOException;

  /** Drops what is not sent; may be called at any time and more than once. */
  void abort();

  /** Sends nothing: what was not flushed is dropped. */
  @Override
  void close();

  /** The statistics so far. */
  FlushStats sent();

  /** The HFiles that the driver has to load; null where changes are sent as mutations. */
  default List<StagedFile> staged() {
    return null;
  }
}
