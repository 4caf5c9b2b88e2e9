package io.milepost.hbase.client;

import io.milepost.version.Eras;
import java.io.Serializable;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableName;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.unsafe.types.UTF8String;

/** Every option of `milepost-hbase`: its key, its default, and the message for an invalid value. */
public final class HBaseOptions implements Serializable {
  static final String QUORUM = "quorum";
  static final String SITE = "site";
  static final String TABLE = "table";
  public static final String ROW_KEY = "row-key";
  static final String SALT = "salt";
  public static final String COLUMNS = "columns";
  static final String ENCODING = "encoding";
  public static final String OP = "op";
  static final String DELETE = "delete";
  static final String NULLS = "nulls";
  public static final String VERSION = "version";
  static final String GENERATION = "generation";
  public static final String GUARD = "guard";
  static final String ERAS = "eras";
  static final String FLUSH_ROWS = "flush.rows";
  static final String FLUSH_BYTES = "flush.bytes";
  static final String FLUSH_INTERVAL = "flush.interval-ms";
  static final String OPERATION_TIMEOUT = "operation-timeout-ms";
  static final String CONNECT_TIMEOUT = "connect-timeout-ms";
  public static final String WRITE = "write";
  static final String STAGING_DIR = "staging-dir";
  static final String BULK_LOAD_FROM = "bulk-load.from-records";
  static final String BULK_LOAD_CHUNK = "bulk-load.chunk-bytes";
  static final String BULK_LOAD_TIMEOUT = "bulk-load.timeout-ms";
  static final String ROLL_BACK = "roll-back";
  static final String JOB = "job";
  static final String RAW = "raw";
  static final String VERSIONS = "versions";
  static final String MIN_VERSION = "min-version";
  static final String MAX_VERSION = "max-version";
  static final String TIME_ZONE = "time-zone";
  static final String HBASE_PREFIX = "hbase.";

  /** HBase's own default of this limit, on the client and on the server. */
  private static final long DEFAULT_MAX_CELL_BYTES = 10L << 20;
  private static final String MAX_CELL_BYTES = "hbase.client.keyvalue.maxsize";
  private static final long MAX_GENERATION = (1L << 15) - 1;
  private static final int MAX_SALT = 256;
  private static final long LEAST_CHUNK_BYTES = 8L << 20;
  private static final long MOST_CHUNK_BYTES = 128L << 20;

  private static final List<String> KNOWN = List.of(QUORUM, SITE, TABLE, ROW_KEY, SALT, COLUMNS, ENCODING, OP, DELETE,
      NULLS, VERSION, GENERATION, ERAS, GUARD, FLUSH_ROWS, FLUSH_BYTES, FLUSH_INTERVAL, OPERATION_TIMEOUT, CONNECT_TIMEOUT,
      WRITE, STAGING_DIR,
      BULK_LOAD_FROM, BULK_LOAD_CHUNK, BULK_LOAD_TIMEOUT, ROLL_BACK, JOB, RAW, VERSIONS, MIN_VERSION, MAX_VERSION, TIME_ZONE,
      "bad-records", "bad-records.topic");

  public enum Encoding { NATIVE, STRING, JSON }

  public enum DeleteScope { ROW, COLUMNS }

  public enum Nulls { SKIP, EMPTY, DELETE }

  public enum Guard { NONE, CAS }

  public enum Write { MUTATIONS, BULK_LOAD, AUTO }

  public enum VersionKind { OFFSET, CHECKPOINT, TIMESTAMP, COLUMN, SERVER_TIME }

  private final TreeMap<String, String> values = new TreeMap<>();
  private final String timeZone;

  /** Created on the driver, where the time zone of the session is known; it must be the same for every task. */
  public HBaseOptions(Map<String, String> options) {
    values.putAll(options);
    refuseMisspelt();
    timeZone = values.getOrDefault(TIME_ZONE, SQLConf.get().sessionLocalTimeZone());
  }

  /** The same options with the eras of versions that are in force; `eras` is null where there are none. */
  public HBaseOptions withEras(Eras eras) {
    return eras == null ? this : new HBaseOptions(this, ERAS, eras.toJson());
  }

  private HBaseOptions(HBaseOptions others, String key, String value) {
    values.putAll(others.values);
    values.put(key, value);
    timeZone = others.timeZone;
  }

  /** The options as they were given, for the bad-records policy and the HBase configuration. */
  public Map<String, String> asMap() {
    return Map.copyOf(values);
  }

  String quorum() {
    return values.get(QUORUM);
  }

  String site() {
    return values.get(SITE);
  }

  public TableName table() {
    String name = required(TABLE, "the HBase table, for example orders or shop:orders");
    try {
      return TableName.valueOf(name);
    } catch (IllegalArgumentException e) {
      throw invalid(TABLE, name, "this is not a valid name for an HBase table (" + e.getMessage() + ")",
          "use letters, digits, '_', '-' and '.', with an optional 'namespace:' in front");
    }
  }

  public List<String> rowKey() {
    return ColumnsParser.rowKey(required(ROW_KEY, "the columns that make the row key, for example [\"id\"]"));
  }

  public List<ColumnsParser.Target> columns() {
    return ColumnsParser.columns(required(COLUMNS, "family and columns, for example {\"d\": [\"customer\", \"amount\"]}"));
  }

  public boolean hasColumns() {
    return values.containsKey(COLUMNS);
  }

  /** 0 disables the salt. */
  public int salt() {
    int salt = (int) number(SALT, 0, 0, MAX_SALT);
    if (salt == 1) {
      throw invalid(SALT, "1", "one bucket spreads nothing", "use 2 to 256 buckets, or 0 for none");
    }
    return salt;
  }

  public Encoding encoding() {
    return choice(ENCODING, Encoding.NATIVE);
  }

  /** Null where the rows have no operation column. */
  public String op() {
    return values.get(OP);
  }

  public DeleteScope deleteScope() {
    return choice(DELETE, DeleteScope.ROW);
  }

  public Nulls nulls() {
    return choice(NULLS, Nulls.SKIP);
  }

  public boolean hasVersion() {
    return values.containsKey(VERSION);
  }

  public VersionKind versionKind() {
    String text = values.getOrDefault(VERSION, "offset");
    return switch (text) {
      case "offset" -> VersionKind.OFFSET;
      case "checkpoint" -> VersionKind.CHECKPOINT;
      case "timestamp" -> VersionKind.TIMESTAMP;
      case "server-time" -> VersionKind.SERVER_TIME;
      default -> {
        if (!text.startsWith("column:") || text.length() == "column:".length()) {
          throw invalid(VERSION, text, "the version of a cell must come from the record, so that a replay writes the same"
              + " cell again", "use offset, checkpoint, timestamp or column:<name>, or server-time where at-least-once is enough");
        }
        yield VersionKind.COLUMN;
      }
    };
  }

  public String versionColumn() {
    return values.get(VERSION).substring("column:".length());
  }

  public long generation() {
    return number(GENERATION, 0, 0, MAX_GENERATION);
  }

  public Guard guard() {
    return choice(GUARD, Guard.NONE);
  }

  /** The eras that turn offsets into versions; null where one generation applies to all. */
  public Eras eras() {
    String text = values.get(ERAS);
    return text == null ? null : Eras.parse(text);
  }

  /** The plan of a rollback as JSON; null where rows are written. */
  public String rollBack() {
    return values.get(ROLL_BACK);
  }

  public int flushRows() {
    return (int) number(FLUSH_ROWS, 5000, 1, 1_000_000);
  }

  public long flushBytes() {
    return number(FLUSH_BYTES, 8L << 20, 1, 128L << 20);
  }

  public long flushIntervalMillis() {
    return number(FLUSH_INTERVAL, 1000, 1, 3_600_000);
  }

  /** How long HBase's client may retry: the user's own property, or the time that the job leaves for a write. */
  public int operationTimeoutMillis() {
    long ofTheJob = number(OPERATION_TIMEOUT, 120_000, 1, 3_600_000);
    return (int) number(HConstants.HBASE_CLIENT_OPERATION_TIMEOUT, ofTheJob, 1, 3_600_000);
  }

  /** How long a start waits for HBase. */
  public long connectTimeoutMillis() {
    return number(CONNECT_TIMEOUT, 60_000, 1, 3_600_000);
  }

  public Write write() {
    return choice(WRITE, Write.MUTATIONS);
  }

  /** Where HFiles are kept until they are loaded. */
  public String stagingDir() {
    return required(STAGING_DIR, "where HFiles are kept until they are loaded, for example hdfs:///milepost/orders");
  }

  /** With `write: auto`, a batch of at least this many records is bulk loaded and a smaller one is sent. */
  public long bulkLoadFrom() {
    return number(BULK_LOAD_FROM, 200_000, 1, Long.MAX_VALUE);
  }

  /**
   * How many bytes a task collects before it writes HFiles. Larger chunks make fewer files and cost each task that
   * much memory. By default all tasks of this JVM together use up to a quarter of its heap.
   */
  public long bulkLoadChunkBytes() {
    Runtime here = Runtime.getRuntime();
    long share = here.maxMemory() / 4 / here.availableProcessors();
    return number(BULK_LOAD_CHUNK, Math.min(Math.max(share, LEAST_CHUNK_BYTES), MOST_CHUNK_BYTES), 1, 1L << 30);
  }

  public long bulkLoadTimeoutMillis() {
    return number(BULK_LOAD_TIMEOUT, 480_000, 1000, Integer.MAX_VALUE);
  }

  public long maxCellBytes() {
    long limit = number(MAX_CELL_BYTES, DEFAULT_MAX_CELL_BYTES, Integer.MIN_VALUE, Integer.MAX_VALUE);
    return limit <= 0 ? Integer.MAX_VALUE : limit;
  }

  /** Null where the write belongs to no Milepost job. */
  public String job() {
    return values.get(JOB);
  }

  public boolean raw() {
    String text = values.getOrDefault(RAW, "false");
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default -> throw invalid(RAW, text, "it switches between rows and cells", "use true or false");
    };
  }

  /** For a raw reader: how many versions of a cell to return; by default all that are stored. */
  public int versions() {
    return (int) number(VERSIONS, Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
  }

  /** For a reader: older cells are ignored. */
  public long minVersion() {
    return number(MIN_VERSION, 0, 0, Long.MAX_VALUE);
  }

  /** For a reader: newer cells are ignored. */
  public long maxVersion() {
    return number(MAX_VERSION, Long.MAX_VALUE, 0, Long.MAX_VALUE);
  }

  public String timeZone() {
    return timeZone;
  }

  private String required(String key, String what) {
    String value = values.get(key);
    if (value == null || value.isBlank()) {
      throw new IllegalArgumentException("Option '" + key + "' is missing. It names " + what + ". Set it.");
    }
    return value;
  }

  private long number(String key, long otherwise, long least, long most) {
    String text = values.get(key);
    if (text == null) {
      return otherwise;
    }
    try {
      long number = Long.parseLong(text.trim());
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Reported below, in the same message as a number out of range.
    }
    throw invalid(key, text, "it is not a whole number in this range", "use " + least + " to " + most);
  }

  private <T extends Enum<T>> T choice(String key, T otherwise) {
    String text = values.get(key);
    if (text == null) {
      return otherwise;
    }
    StringBuilder all = new StringBuilder();
    for (T option : otherwise.getDeclaringClass().getEnumConstants()) {
      String name = option.name().toLowerCase(Locale.ROOT).replace('_', '-');
      if (name.equals(text)) {
        return option;
      }
      all.append(all.isEmpty() ? "" : ", ").append(name);
    }
    throw invalid(key, text, "there is no such choice", "use one of " + all);
  }

  /** Spark adds options of its own, so an unknown key is refused only if it resembles one of ours. */
  private void refuseMisspelt() {
    for (String key : values.keySet()) {
      if (KNOWN.contains(key) || key.startsWith(HBASE_PREFIX) || key.length() < 4) {
        continue;
      }
      for (String known : KNOWN) {
        if (known.length() > 3 && UTF8String.fromString(key).levenshteinDistance(UTF8String.fromString(known)) <= 2) {
          throw new IllegalArgumentException(
              "Option '" + key + "' is unknown. It looks like '" + known + "', but does not set it. Write '" + known + "'.");
        }
      }
    }
  }

  public static IllegalArgumentException invalid(String key, String value, String why, String fix) {
    return new IllegalArgumentException(
        "Option '" + key + "' cannot be '" + value + "': " + why + ". To fix it, " + fix + ".");
  }
}
