package io.milepost.hbase.table;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.hbase.client.RootCause;
import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.security.SecurityCapability;
import org.apache.hadoop.hbase.security.access.Permission;
import org.apache.spark.unsafe.types.UTF8String;

/** Describes a table as JSON: all that the start-up checks want to know. */
final class TableDescription {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int MAX_SIMILAR = 5;
  private static final String PURGE_DELETES_AFTER = "hbase.hstore.time.to.purge.deletes";

  private TableDescription() {}

  static ObjectNode of(Admin admin, TableName name) throws IOException {
    ObjectNode answer = JSON.createObjectNode();
    boolean namespaceExists = Arrays.asList(admin.listNamespaces()).contains(name.getNamespaceAsString());
    answer.put("namespace-exists", namespaceExists);
    boolean exists = namespaceExists && admin.tableExists(name);
    ObjectNode table = answer.putObject("table");
    table.put("name", name.getNameAsString());
    table.put("exists", exists);
    if (exists) {
      describe(admin, name, table);
      answer.putArray("tables");
    } else {
      answer.set("tables", similar(admin, name));
    }
    answer.set("registry", registry(admin, name));
    return answer;
  }

  /** The table's writers; an `error` where HBase does not let this user read them. */
  private static ObjectNode registry(Admin admin, TableName name) throws IOException {
    try {
      return WriterRegistry.read(admin.getConnection(), name);
    } catch (IOException e) {
      if (!HBaseInspector.isDenied(e)) {
        throw e;
      }
      return JSON.createObjectNode().put("error", RootCause.describe(e));
    }
  }

  private static void describe(Admin admin, TableName name, ObjectNode table) throws IOException {
    TableDescriptor descriptor = admin.getDescriptor(name);
    table.put("enabled", admin.isTableEnabled(name));
    table.put("read-only", descriptor.isReadOnly());
    table.put("write-allowed", writeAllowed(admin, name));
    table.put("regions", admin.getRegions(name).size());
    ObjectNode families = table.putObject("families");
    for (ColumnFamilyDescriptor family : descriptor.getColumnFamilies()) {
      ObjectNode json = families.putObject(family.getNameAsString());
      if (family.getTimeToLive() == HConstants.FOREVER) {
        json.putNull("ttl");
      } else {
        json.put("ttl", family.getTimeToLive());
      }
      json.put("versions", family.getMaxVersions());
      json.put("min-versions", family.getMinVersions());
      json.put("keep-deleted-cells", family.getKeepDeletedCells().name().toLowerCase(Locale.ROOT));
      json.put("new-version-behavior", family.isNewVersionBehavior());
      json.put("purge-deletes-after-ms", purgeDeletesAfter(descriptor, family));
    }
  }

  /** What the family or the table says; what the servers' own file says cannot be seen from here. */
  private static long purgeDeletesAfter(TableDescriptor table, ColumnFamilyDescriptor family) {
    String ofFamily = family.getConfigurationValue(PURGE_DELETES_AFTER);
    String text = ofFamily != null ? ofFamily : table.getValue(PURGE_DELETES_AFTER);
    return text == null ? 0 : Long.parseLong(text);
  }

  /** True where HBase checks no permissions at all. */
  private static boolean writeAllowed(Admin admin, TableName name) throws IOException {
    if (!admin.getSecurityCapabilities().contains(SecurityCapability.AUTHORIZATION)) {
      return true;
    }
    Permission write = Permission.newBuilder(name).withActions(Permission.Action.WRITE).build();
    return admin.hasUserPermissions(List.of(write)).get(0);
  }

  /** The names nearest to the one that is not there; also the same name in another namespace. */
  private static ArrayNode similar(Admin admin, TableName name) throws IOException {
    UTF8String wanted = UTF8String.fromString(name.getQualifierAsString());
    ArrayNode names = JSON.createArrayNode();
    Arrays.stream(admin.listTableNames())
        .sorted(Comparator.comparingInt(
            table -> wanted.levenshteinDistance(UTF8String.fromString(table.getQualifierAsString()))))
        .filter(table -> wanted.levenshteinDistance(UTF8String.fromString(table.getQualifierAsString()))
            <= Math.max(2, wanted.numChars() / 3))
        .limit(MAX_SIMILAR)
        .forEach(table -> names.add(table.getNameAsString()));
    return names;
  }
}
