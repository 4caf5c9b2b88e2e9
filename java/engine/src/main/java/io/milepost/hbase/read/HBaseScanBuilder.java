package io.milepost.hbase.read;

import io.milepost.hbase.client.HBaseConnections;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mapping.Mapping;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Builds the scan. Refuses, before anything runs, a schema that the cells of the table cannot fill, and leaves out
 * what the query does not need. Predicates only narrow the scan: Spark evaluates all of them again.
 */
public final class HBaseScanBuilder
    implements SupportsPushDownV2Filters, SupportsPushDownRequiredColumns, SupportsPushDownLimit {
  private final StructType schema;
  private final HBaseOptions options;
  private final Set<String> notNull = new HashSet<>();
  private final List<Predicate> pushed = new ArrayList<>();
  private StructType required;
  private KeyConstraint key;
  private VersionRange versions;
  private int limit = ScanPlan.NO_LIMIT;

  public HBaseScanBuilder(StructType schema, HBaseOptions options) {
    this.schema = schema;
    this.options = options;
    this.required = schema;
    check();
    this.key = options.raw() ? rawKey() : typedKey();
    this.versions = new VersionRange(options.minVersion(), options.maxVersion());
  }

  private void check() {
    options.table();
    HBaseConnections.configuration(options);
    if (!options.raw()) {
      // Creates the decoders too, so that a type that cannot be read back is refused here.
      new RowDecoder(options, schema, schema);
    } else if (!schema.asNullable().equals(HBaseRawReader.SCHEMA.asNullable())) {
      throw new IllegalArgumentException("With raw=true the rows are cells, and their schema is fixed: "
          + HBaseRawReader.SCHEMA.toDDL() + ". Leave .schema(…) out.");
    }
  }

  private KeyConstraint typedKey() {
    List<Mapping.KeyColumn> columns = Mapping.forRead(options, schema).key();
    List<KeyPart> parts = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      parts.add(new KeyPart(options, columns.get(i).type(), i, columns.size()));
    }
    return new KeyConstraint(columns.stream().map(Mapping.KeyColumn::name).toList(), parts, options.salt());
  }

  /** Raw rows are the bytes themselves, however they were encoded. */
  private KeyConstraint rawKey() {
    return new KeyConstraint(List.of("row"), List.of(new KeyPart(options, DataTypes.BinaryType, 0, 1)), 0);
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    for (Predicate predicate : predicates) {
      KeyConstraint ofKey = key.of(predicate);
      VersionRange ofVersion = options.raw() ? VersionRange.of(predicate, "version") : VersionRange.ALL;
      boolean isNotNull = predicate.name().equals("IS_NOT_NULL")
          && predicate.children()[0] instanceof NamedReference column && notNull.add(String.join(".", column.fieldNames()));
      if (!ofKey.isNone() || !ofVersion.isAll() || isNotNull) {
        pushed.add(predicate);
      }
      key = key.and(ofKey);
      versions = versions.intersect(ofVersion);
    }
    return predicates;
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushed.toArray(new Predicate[0]);
  }

  @Override
  public void pruneColumns(StructType columns) {
    required = columns;
  }

  /** The limit of each region; Spark applies it again to the rows of all regions. */
  @Override
  public boolean pushLimit(int rows) {
    if (options.raw()) {
      return false; // a row of the query is a cell here, and HBase counts rows
    }
    limit = rows;
    return true;
  }

  @Override
  public Scan build() {
    ScanPlan plan = new ScanPlan(key.ranges(), versions, options.raw() ? null : cells(), limit);
    return new HBaseScan(schema, required, options, plan);
  }

  private ScanPlan.Cells cells() {
    List<ScanPlan.Column> mapped = new ArrayList<>();
    List<ScanPlan.Column> wanted = new ArrayList<>();
    boolean areEnough = false;
    List<String> names = Arrays.asList(required.fieldNames());
    for (Mapping.ValueColumn column : Mapping.forRead(options, schema).values()) {
      ScanPlan.Column place = new ScanPlan.Column(column.family(), column.qualifier());
      mapped.add(place);
      if (names.contains(column.name())) {
        wanted.add(place);
        areEnough |= notNull.contains(column.name());
      }
    }
    return new ScanPlan.Cells(mapped, wanted, areEnough);
  }
}
