package io.milepost.hbase.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.milepost.hbase.Rows;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.HConstants;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HBaseOptionsTest {
  @Test
  void defaultsAreAsDocumented() {
    HBaseOptions options = Rows.options();
    assertEquals(HBaseOptions.Encoding.NATIVE, options.encoding());
    assertEquals(HBaseOptions.DeleteScope.ROW, options.deleteScope());
    assertEquals(HBaseOptions.Nulls.SKIP, options.nulls());
    assertEquals(HBaseOptions.VersionKind.OFFSET, options.versionKind());
    assertEquals(0, options.generation());
    assertEquals(0, options.salt());
    assertEquals(5000, options.flushRows());
    assertEquals(8_388_608, options.flushBytes());
    assertEquals(1000, options.flushIntervalMillis());
    assertEquals(120_000, options.operationTimeoutMillis());
    assertEquals(10_485_760, options.maxCellBytes());
    assertNull(options.op());
    assertNull(options.job());
  }

  @ParameterizedTest
  @CsvSource(delimiter = ';', value = {
      "encoding; Native; use one of native, string, json",
      "delete; all; use one of row, columns",
      "nulls; null; use one of skip, empty, delete",
      "salt; 1; one bucket spreads nothing",
      "salt; 257; use 0 to 256",
      "salt; x; use 0 to 256",
      "generation; -1; use 0 to 32767",
      "generation; 32768; use 0 to 32767",
      "flush.rows; 0; use 1 to 1000000",
      "flush.bytes; 8mb; not a whole number",
      "flush.interval-ms; 0; use 1 to",
      "operation-timeout-ms; 0; use 1 to",
      "version; now; must come from the record",
      "version; server_time; or server-time where at-least-once is enough",
      "version; column:; must come from the record",
      "raw; yes; use true or false",
      "table; a b; not a valid name for an HBase table",
      "row-key; id; not valid JSON",
      "row-key; []; list of column names",
      "row-key; [1]; list of column names",
      "row-key; {\"a\":1}; list of column names",
      "row-key; [\"a\",\"a\"]; named twice",
      "columns; {}; no column is mapped",
      "columns; {\"d\":[]}; no column is mapped",
      "columns; []; no column is mapped",
      "columns; {\"d\":[3]}; the column must be a name",
      "columns; {\"d\":{\"q\":null}}; the column must be a name",
      "columns; {\"a:b\":[\"v\"]}; not a valid name for a column family",
      "columns; {\"\":[\"v\"]}; not a valid name for a column family",
      "columns; {\"d\":[\"v\",\"v\"]}; two columns map to this cell",
      "columns; {\"d\":[\"v\"],\"d\":[\"w\"]}; not valid JSON"})
  void aWrongValueIsToldWithItsReason(String key, String value, String part) {
    Rows.assertRefused(part, () -> read(Rows.options(key, value)));
    Rows.assertRefused("'" + key + "'", () -> read(Rows.options(key, value)));
  }

  private static void read(HBaseOptions options) {
    options.encoding();
    options.deleteScope();
    options.nulls();
    options.salt();
    options.generation();
    options.flushRows();
    options.flushBytes();
    options.flushIntervalMillis();
    options.operationTimeoutMillis();
    options.versionKind();
    options.raw();
    options.table();
    options.rowKey();
    options.columns();
  }

  @ParameterizedTest
  @CsvSource({"table, names the HBase table", "row-key, the columns that make the row key", "columns, family and columns"})
  void aMissingOptionIsTold(String key, String part) {
    Rows.assertRefused(part, () -> read(Rows.options(key, "")));
  }

  @ParameterizedTest
  @CsvSource({"flush.row, flush.rows", "row_key, row-key", "colums, columns", "encodings, encoding"})
  void aMisspeltOptionIsTold(String key, String meant) {
    Rows.assertRefused("Write '" + meant + "'", () -> Rows.options(key, "1"));
  }

  @Test
  void otherOptionsAreSparksOrKafkasBusiness() {
    Rows.options("checkpointLocation", "/x", "queryName", "q", "kafka.bootstrap.servers", "b", "path", "p");
  }

  @Test
  void columnsAreReadInBothForms() {
    assertEquals(List.of(new ColumnsParser.Target("d", "v", "v"), new ColumnsParser.Target("e", "q", "w")),
        Rows.options("columns", "{\"d\": [\"v\"], \"e\": {\"q\": \"w\"}}").columns());
  }

  @Test
  void theUsersOwnTimeoutWinsOverTheJobs() {
    assertEquals(4000, Rows.options("operation-timeout-ms", "4000").operationTimeoutMillis());
    assertEquals(90_000, Rows.options("operation-timeout-ms", "4000", "hbase.client.operation.timeout", "90000")
        .operationTimeoutMillis());
  }

  @Test
  void theClientIsConfiguredFromTheOptions() {
    var configuration = HBaseConnections.configuration(Rows.options("quorum", "a:1181, b:1181",
        "hbase.zookeeper.property.clientPort", "7", "hbase.rpc.protection", "privacy", "operation-timeout-ms", "5000"));
    assertEquals("a:1181,b:1181", configuration.get(HConstants.ZOOKEEPER_QUORUM));
    assertEquals("7", configuration.get(HConstants.ZOOKEEPER_CLIENT_PORT), "an hbase. option wins");
    assertEquals("privacy", configuration.get("hbase.rpc.protection"));
    assertEquals(5000, configuration.getInt(HConstants.HBASE_CLIENT_OPERATION_TIMEOUT, 0));
    assertEquals(5000, configuration.getInt(HConstants.HBASE_RPC_TIMEOUT_KEY, 0));
    Rows.assertRefused("not a list of host:port", () -> HBaseConnections.configuration(Rows.options("quorum", "host:port")));
    Rows.assertRefused("not a list of host:port", () -> HBaseConnections.configuration(Rows.options("quorum", "a:1,,b:2")));
    Rows.assertRefused("Neither option 'quorum' nor 'site'", () -> HBaseConnections.configuration(
        new HBaseOptions(Map.of("table", "t"))));
    Rows.assertRefused("no such file", () -> HBaseConnections.configuration(Rows.options("site", "/none/hbase-site.xml")));
  }
}
