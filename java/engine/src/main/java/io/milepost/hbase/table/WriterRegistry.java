package io.milepost.hbase.table;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.hbase.client.HBaseOptions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.NamespaceExistException;
import org.apache.hadoop.hbase.NamespaceNotFoundException;
import org.apache.hadoop.hbase.TableExistsException;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.TableNotFoundException;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The jobs that write each table, kept in a table of our own that every job of the cluster can see.
 *
 * <p>Each row describes one table. It has one column per writer, one per writer for its newest sealed checkpoint, and
 * a revision that changes with every claim, so that of two concurrent claims exactly one succeeds.
 */
public final class WriterRegistry {
  static final TableName NAME = TableName.valueOf("milepost", "writers");
  private static final byte[] FAMILY = Bytes.toBytes("w");
  private static final byte[] REVISION = Bytes.toBytes("revision");
  private static final String WRITER = "writer/";
  private static final String CHECKPOINT = "checkpoint/";
  private static final long CLAIM_DEADLINE_MILLIS = 60_000;
  private static final ObjectMapper JSON = new ObjectMapper();

  private WriterRegistry() {}

  /** The entry of a table: `revision`, `writers` and `checkpoints` by writer; null where there is no registry yet. */
  static ObjectNode read(Connection connection, TableName table) throws IOException {
    Result row;
    try (Table registry = connection.getTable(NAME)) {
      row = registry.get(new Get(row(table)));
    } catch (TableNotFoundException | NamespaceNotFoundException e) {
      return null;
    }
    ObjectNode known = JSON.createObjectNode();
    ObjectNode writers = known.putObject("writers");
    ObjectNode checkpoints = known.putObject("checkpoints");
    for (Cell cell : row.isEmpty() ? new Cell[0] : row.rawCells()) {
      String name = Bytes.toString(CellUtil.cloneQualifier(cell));
      String value = Bytes.toString(CellUtil.cloneValue(cell));
      if (name.startsWith(WRITER)) {
        writers.put(name.substring(WRITER.length()), value);
      } else if (name.startsWith(CHECKPOINT)) {
        checkpoints.put(name.substring(CHECKPOINT.length()), Long.parseLong(value));
      } else {
        known.put("revision", value);
      }
    }
    return known;
  }

  /**
   * Records a writer in place of others, never of itself, unless the row has changed since `revision` was read (null:
   * there was none). Returns `claimed`, or an error as {@link HBaseInspector} does; creates the registry if there is
   * none.
   */
  public static String claim(Map<String, String> options, String revision, String writer, String document,
      List<String> replaced) {
    HBaseOptions parsed = new HBaseOptions(options);
    return HBaseInspector.ask(parsed, CLAIM_DEADLINE_MILLIS, admin -> {
      create(admin);
      byte[] row = row(parsed.table());
      List<Mutation> changes = new ArrayList<>();
      for (String other : replaced) {
        changes.add(new Delete(row).addColumns(FAMILY, Bytes.toBytes(WRITER + other))
            .addColumns(FAMILY, Bytes.toBytes(CHECKPOINT + other)));
      }
      changes.add(new Put(row).addColumn(FAMILY, Bytes.toBytes(WRITER + writer), Bytes.toBytes(document))
          .addColumn(FAMILY, REVISION, Bytes.toBytes(next(revision))));
      RowMutations change = RowMutations.of(changes);
      CheckAndMutate.Builder check = CheckAndMutate.newBuilder(row);
      CheckAndMutate.Builder same = revision == null ? check.ifNotExists(FAMILY, REVISION)
          : check.ifEquals(FAMILY, REVISION, Bytes.toBytes(revision));
      try (Table registry = admin.getConnection().getTable(NAME)) {
        return JSON.createObjectNode().put("claimed", registry.checkAndMutate(same.build(change)).isSuccess());
      }
    }).toString();
  }

  /** Writes the columns if the writer's own entry is still `document`; false if another job has replaced it. */
  static boolean putIfOwned(Connection connection, TableName table, String writer, String document, Map<String, String> columns)
      throws IOException {
    byte[] row = row(table);
    Put put = new Put(row);
    columns.forEach((name, value) -> put.addColumn(FAMILY, Bytes.toBytes(name), Bytes.toBytes(value)));
    CheckAndMutate owned = CheckAndMutate.newBuilder(row)
        .ifEquals(FAMILY, Bytes.toBytes(WRITER + writer), Bytes.toBytes(document)).build(put);
    try (Table registry = connection.getTable(NAME)) {
      return registry.checkAndMutate(owned).isSuccess();
    }
  }

  static String writerColumn(String writer) {
    return WRITER + writer;
  }

  static String checkpointColumn(String writer) {
    return CHECKPOINT + writer;
  }

  private static void create(Admin admin) throws IOException {
    if (admin.tableExists(NAME)) {
      return;
    }
    try {
      admin.createNamespace(NamespaceDescriptor.create(NAME.getNamespaceAsString()).build());
    } catch (NamespaceExistException e) {
      // An administrator, or another job, was first.
    }
    try {
      admin.createTable(TableDescriptorBuilder.newBuilder(NAME).setColumnFamily(ColumnFamilyDescriptorBuilder.of(FAMILY)).build());
    } catch (TableExistsException e) {
      // Another job was first.
    }
  }

  private static String next(String revision) {
    return revision == null ? "1" : Long.toString(Long.parseLong(revision) + 1);
  }

  private static byte[] row(TableName table) {
    return Bytes.toBytes(table.getNameWithNamespaceInclAsString());
  }
}
