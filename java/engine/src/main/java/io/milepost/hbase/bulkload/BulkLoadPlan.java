package io.milepost.hbase.bulkload;

import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import java.io.IOException;
import java.io.Serializable;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.exceptions.DeserializationException;

/** What a task needs to write HFiles: the staging folder, and the table as it was when the batch began. */
public record BulkLoadPlan(Staging staging, byte[] descriptor, byte[][] startKeys) implements Serializable {
  /** Reads the table from HBase, on the driver. */
  static BulkLoadPlan of(HBaseOptions options, Staging staging) throws IOException {
    Connection connection = HBaseConnections.shared(options);
    try (Table table = connection.getTable(options.table());
        RegionLocator locator = connection.getRegionLocator(options.table())) {
      return of(staging, table.getDescriptor(), locator.getStartKeys());
    }
  }

  static BulkLoadPlan of(Staging staging, TableDescriptor table, byte[][] startKeys) throws IOException {
    for (ColumnFamilyDescriptor family : table.getColumnFamilies()) {
      if (family.getEncryptionType() != null) {
        throw new IOException("family " + family.getNameAsString() + " of table " + table.getTableName()
            + " is encrypted by HBase, and files that the job writes would not be. Use write: mutations.");
      }
    }
    return new BulkLoadPlan(staging, TableDescriptorBuilder.toByteArray(table), startKeys);
  }

  TableDescriptor table() {
    try {
      return TableDescriptorBuilder.parseFrom(descriptor);
    } catch (DeserializationException e) {
      throw new IllegalStateException("The table descriptor did not reach the task intact", e);
    }
  }
}
