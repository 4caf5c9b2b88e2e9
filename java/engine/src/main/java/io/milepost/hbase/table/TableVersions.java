package io.milepost.hbase.table;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.milepost.hbase.client.HBaseOptions;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Finds out which versions the cells of a table have. HBase skips files by their range of versions, so few cells are
 * read.
 */
public final class TableVersions {
  private static final int GENERATION_BITS = 15;
  private static final int OFFSET_BITS = 48;
  private static final long DEADLINE_MILLIS = 600_000;
  private static final ObjectMapper JSON = new ObjectMapper();

  private TableVersions() {}

  /**
   * Returns `free`: the lowest generation above every cell and delete marker of the families; 0 where there is none.
   */
  public static String freeGeneration(Map<String, String> options, List<String> families) {
    HBaseOptions parsed = new HBaseOptions(options);
    return HBaseInspector.ask(parsed, DEADLINE_MILLIS, admin -> {
      try (Table table = admin.getConnection().getTable(parsed.table())) {
        return JSON.createObjectNode().put("free", free(table, families));
      }
    }).toString();
  }

  private static int free(Table table, List<String> families) throws IOException {
    if (!holds(table, families, 0)) {
      return 0;
    }
    int lowest = 1;
    int highest = 1 << GENERATION_BITS;
    while (lowest < highest) {
      int middle = (lowest + highest) >>> 1;
      if (holds(table, families, (long) middle << OFFSET_BITS)) {
        lowest = middle + 1;
      } else {
        highest = middle;
      }
    }
    return lowest;
  }

  private static boolean holds(Table table, List<String> families, long version) throws IOException {
    Scan scan = new Scan().setRaw(true).setTimeRange(version, Long.MAX_VALUE).setLimit(1).setBatch(1);
    families.forEach(family -> scan.addFamily(Bytes.toBytes(family)));
    try (ResultScanner found = table.getScanner(scan)) {
      return found.next() != null;
    }
  }
}
