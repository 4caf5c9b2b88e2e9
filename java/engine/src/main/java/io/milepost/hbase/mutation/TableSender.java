package io.milepost.hbase.mutation;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.Table;

/** Sends through HBase's own client, which locates regions, retries, and follows a region that moves. */
public final class TableSender implements BatchSender {
  private final Table table;

  public TableSender(Table table) {
    this.table = table;
  }

  @Override
  public void send(List<RowChange> changes, Object[] results) throws IOException, InterruptedException {
    List<Row> actions = new ArrayList<>(changes.size());
    for (RowChange change : changes) {
      actions.add(change.action());
    }
    synchronized (table) { // HBase does not promise that a table is thread safe
      table.batch(actions, results);
    }
  }
}
