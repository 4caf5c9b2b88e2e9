package io.milepost.hbase.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import java.util.List;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.filter.KeyOnlyFilter;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class HBaseScanBuilderTest {
  private static final StructType SCHEMA = new StructType().add("id", DataTypes.StringType)
      .add("v", DataTypes.LongType).add("w", DataTypes.StringType);
  private static final HBaseOptions OPTIONS = Rows.options("columns", "{\"d\": [\"v\"], \"e\": [\"w\"]}");
  private static final HBaseOptions RAW = Rows.options("raw", "true", "row-key", "", "columns", "");
  private static final Predicate KEY = KeyConstraintTest.compare("id", "=", "k", DataTypes.StringType);

  private static StructType only(String... names) {
    StructType columns = new StructType();
    for (String name : names) {
      columns = columns.add(SCHEMA.apply(name));
    }
    return columns;
  }

  private static Predicate isNotNull(String column) {
    return new Predicate("IS_NOT_NULL", new Expression[] {Expressions.column(column)});
  }

  private static ScanPlan plan(HBaseScanBuilder builder) {
    return ((HBaseScan) builder.build()).plan();
  }

  private static Scan scan(HBaseScanBuilder builder) {
    ScanPlan plan = plan(builder);
    return plan.scan(plan.ranges().get(0));
  }

  @Test
  void allOfTheTableIsReadWhereNothingIsSaid() {
    Scan scan = scan(new HBaseScanBuilder(SCHEMA, OPTIONS));
    assertEquals(2, scan.getFamilyMap().size());
    assertNull(scan.getFilter());
    assertEquals(0, scan.getStartRow().length + scan.getStopRow().length);
    assertEquals(1000, scan.getCaching());
    assertFalse(scan.getCacheBlocks());
  }

  @Test
  void aPredicateOnTheRowKeyNarrowsTheRowsAndIsLeftForSpark() {
    HBaseScanBuilder builder = new HBaseScanBuilder(SCHEMA, OPTIONS);
    Predicate other = KeyConstraintTest.compare("v", ">", 1L, DataTypes.LongType);
    assertArrayEquals(new Predicate[] {KEY, other}, builder.pushPredicates(new Predicate[] {KEY, other}));
    assertArrayEquals(new Predicate[] {KEY}, builder.pushedPredicates());
    assertArrayEquals(Bytes.toBytes("k"), scan(builder).getStartRow());
    assertArrayEquals(Bytes.toBytes("k\0"), scan(builder).getStopRow());
    assertTrue(builder.build().description().contains("rows [[k, k\\x00)]"), builder.build().description());
  }

  @Test
  void aRegionOutsideTheRangesIsNotAsked() {
    HBaseScanBuilder builder = new HBaseScanBuilder(SCHEMA, OPTIONS);
    builder.pushPredicates(new Predicate[] {KEY});
    assertEquals(List.of(), plan(builder).within(new KeyRange(Bytes.toBytes("l"), new byte[0])));
    assertEquals(List.of(), plan(builder).within(new KeyRange(new byte[0], Bytes.toBytes("k"))));
    assertEquals(1, plan(builder).within(new KeyRange(Bytes.toBytes("a"), Bytes.toBytes("z"))).size());
  }

  @Test
  void onlyTheRowKeysOnesFirstCellWithoutItsValue() {
    HBaseScanBuilder builder = new HBaseScanBuilder(SCHEMA, OPTIONS);
    builder.pruneColumns(only("id"));
    FilterList filter = assertInstanceOf(FilterList.class, scan(builder).getFilter());
    assertEquals(FilterList.Operator.MUST_PASS_ALL, filter.getOperator());
    assertInstanceOf(FirstKeyOnlyFilter.class, filter.getFilters().get(0));
    assertInstanceOf(KeyOnlyFilter.class, filter.getFilters().get(1));
  }

  @Test
  void someColumnsAndTheFirstCellByWhichARowIsFound() {
    HBaseScanBuilder builder = new HBaseScanBuilder(SCHEMA, OPTIONS);
    builder.pruneColumns(only("w"));
    FilterList filter = assertInstanceOf(FilterList.class, scan(builder).getFilter());
    assertEquals(FilterList.Operator.MUST_PASS_ONE, filter.getOperator());
    assertEquals(2, scan(builder).getFamilyMap().size(), "a row may have no cell but one of another family");
  }

  @Test
  void onlyTheColumnsThemselvesWhereOneOfThemMustBeThere() {
    HBaseScanBuilder builder = new HBaseScanBuilder(SCHEMA, OPTIONS);
    builder.pushPredicates(new Predicate[] {isNotNull("w")});
    builder.pruneColumns(only("id", "w"));
    assertEquals(1, scan(builder).getFamilyMap().size());
    assertNull(scan(builder).getFilter());
  }

  @Test
  void aLimitIsOneOfEachRegionAndOfRowsOnly() {
    HBaseScanBuilder builder = new HBaseScanBuilder(SCHEMA, OPTIONS);
    assertTrue(builder.pushLimit(7));
    assertTrue(builder.isPartiallyPushed());
    assertEquals(7, scan(builder).getLimit());
    assertFalse(new HBaseScanBuilder(HBaseRawReader.SCHEMA, RAW).pushLimit(7));
  }

  @Test
  void versionsAreNarrowedByOptions() {
    HBaseOptions options = Rows.options("columns", "{\"d\": [\"v\"], \"e\": [\"w\"]}", "min-version", "3", "max-version", "9");
    Scan scan = scan(new HBaseScanBuilder(SCHEMA, options));
    assertEquals(3, scan.getTimeRange().getMin());
    assertEquals(10, scan.getTimeRange().getMax());
    Rows.assertRefused("min-version", () -> new HBaseScanBuilder(SCHEMA, Rows.options("min-version", "x",
        "columns", "{\"d\": [\"v\"], \"e\": [\"w\"]}")));
  }

  @Test
  void rawCellsAreNarrowedByRowVersionAndWhatIsWanted() {
    HBaseScanBuilder builder = new HBaseScanBuilder(HBaseRawReader.SCHEMA, RAW);
    builder.pushPredicates(new Predicate[] {
        KeyConstraintTest.compare("row", ">=", Bytes.toBytes("k"), DataTypes.BinaryType),
        KeyConstraintTest.compare("version", ">", 5L, DataTypes.LongType),
        KeyConstraintTest.compare("version", "<=", 8L, DataTypes.LongType)});
    assertEquals(3, builder.pushedPredicates().length);
    ScanPlan plan = plan(builder);
    Scan scan = plan.rawScan(plan.ranges().get(0), List.of(Bytes.toBytes("d")), 2, false);
    assertArrayEquals(Bytes.toBytes("k"), scan.getStartRow());
    assertEquals(6, scan.getTimeRange().getMin());
    assertEquals(9, scan.getTimeRange().getMax());
    assertEquals(2, scan.getMaxVersions());
    assertTrue(scan.isRaw());
    assertInstanceOf(KeyOnlyFilter.class, scan.getFilter());
  }

  @Test
  void versionsThatExcludeEachOtherAskNoRegion() {
    HBaseScanBuilder builder = new HBaseScanBuilder(HBaseRawReader.SCHEMA, RAW);
    builder.pushPredicates(new Predicate[] {
        KeyConstraintTest.compare("version", ">", 5L, DataTypes.LongType),
        KeyConstraintTest.compare("version", "<", 5L, DataTypes.LongType)});
    assertEquals(List.of(), plan(builder).within(KeyRange.ALL));
  }
}
