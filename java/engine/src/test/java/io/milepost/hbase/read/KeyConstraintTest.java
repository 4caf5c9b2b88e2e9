package io.milepost.hbase.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.hbase.Rows;
import io.milepost.hbase.client.HBaseOptions;
import io.milepost.hbase.mapping.Mapping;
import io.milepost.hbase.mapping.RowKeyEncoder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.filter.And;
import org.apache.spark.sql.connector.expressions.filter.Or;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeyConstraintTest {
  private static final String[] OPERATORS = {"=", "<", "<=", ">", ">=", "<=>"};

  private static KeyConstraint constraint(HBaseOptions options, StructType schema) {
    List<Mapping.KeyColumn> key = Mapping.forRead(options, schema).key();
    List<KeyPart> parts = new ArrayList<>();
    for (int i = 0; i < key.size(); i++) {
      parts.add(new KeyPart(options, key.get(i).type(), i, key.size()));
    }
    return new KeyConstraint(key.stream().map(Mapping.KeyColumn::name).toList(), parts, options.salt());
  }

  static Predicate compare(String name, String operator, Object value, DataType type) {
    Object internal = value instanceof String text ? UTF8String.fromString(text) : value;
    return new Predicate(operator, new Expression[] {Expressions.column(name), new LiteralValue<>(internal, type)});
  }

  private static StructType schema(String name, DataType type) {
    return new StructType().add(name, type).add("v", DataTypes.StringType);
  }

  private static String ranges(HBaseOptions options, StructType schema, Predicate predicate) {
    KeyConstraint constraint = constraint(options, schema);
    return constraint.and(constraint.of(predicate)).ranges().toString();
  }

  @ParameterizedTest
  @CsvSource(delimiter = ';', value = {
      "=; 5; [[\\x00\\x05, \\x00\\x05\\x00)]", "=; -1; [[\\xFF\\xFF, \\xFF\\xFF\\x00)]",
      ">=; 5; [[\\x00\\x05, \\x80)]", ">; 32767; []", "<; -32768; []", ">; -2; [[\\x00\\x00, \\x80), [\\xFF\\xFF, end)]",
      "<; 5; [[\\x00\\x00, \\x00\\x05), [\\x80\\x00, end)]", "<=; -2; [[\\x80\\x00, \\xFF\\xFF)]",
  })
  void negativeNumbersSortBehindTheOthers(String operator, short value, String expected) {
    StructType schema = schema("id", DataTypes.ShortType);
    assertEquals(expected, ranges(Rows.options(), schema, compare("id", operator, value, DataTypes.ShortType)));
  }

  @ParameterizedTest
  @CsvSource(delimiter = ';', value = {
      "=; b; [[b, b\\x00)]", "<; b; [[, b)]", "<=; b; [[, b\\x00)]", ">; b; [[b\\x00, end)]", ">=; b; [[b, end)]",
      "STARTS_WITH; b; [[b, c)]", "ENDS_WITH; b; [[, end)]", "<>; b; [[, end)]",
  })
  void textsSortByTheirBytes(String operator, String value, String expected) {
    StructType schema = schema("id", DataTypes.StringType);
    assertEquals(expected, ranges(Rows.options(), schema, compare("id", operator, value, DataTypes.StringType)));
  }

  @Test
  void whatHasMoreThanOneFormOfBytesIsNotPushed() {
    Predicate zero = compare("id", "=", 0.0, DataTypes.DoubleType);
    assertEquals("[[, end)]", ranges(Rows.options(), schema("id", DataTypes.DoubleType), zero));
    Predicate more = compare("id", ">", 1.0, DataTypes.DoubleType);
    assertEquals("[[, end)]", ranges(Rows.options(), schema("id", DataTypes.DoubleType), more));
    Predicate one = compare("id", "=", 1, DataTypes.IntegerType);
    assertEquals("[[, end)]", ranges(Rows.options("encoding", "string"), schema("id", DataTypes.IntegerType), one));
    Predicate yes = compare("id", "=", true, DataTypes.BooleanType);
    assertEquals("[[, end)]", ranges(Rows.options(), schema("id", DataTypes.BooleanType), yes));
    DataType caseless = DataType.fromDDL("STRING COLLATE UTF8_LCASE");
    assertEquals("[[, end)]", ranges(Rows.options(), schema("id", caseless), compare("id", "=", "a", caseless)));
  }

  @Test
  void aLiteralOfAnotherTypeAndAnotherColumnSayNothing() {
    StructType schema = schema("id", DataTypes.StringType);
    assertEquals("[[, end)]", ranges(Rows.options(), schema, compare("id", "=", 5, DataTypes.IntegerType)));
    assertEquals("[[, end)]", ranges(Rows.options(), schema, compare("v", "=", "a", DataTypes.StringType)));
    assertEquals("[[, end)]", ranges(Rows.options(), schema, compare("id", "=", null, DataTypes.StringType)));
  }

  @Test
  void theFirstColumnsOfACompositeKeyAreAPrefix() {
    HBaseOptions options = Rows.options("row-key", "[\"a\",\"n\"]");
    StructType schema = new StructType().add("a", DataTypes.StringType).add("n", DataTypes.ByteType).add("v", DataTypes.StringType);
    Predicate a = compare("a", "=", "x", DataTypes.StringType);
    Predicate n = compare("n", ">=", (byte) 5, DataTypes.ByteType);
    assertEquals("[[x\\x00\\x01, x\\x00\\x02)]", ranges(options, schema, a));
    assertEquals("[[x\\x00\\x01\\x05, x\\x00\\x01\\x80)]", ranges(options, schema, new And(a, n)));
    assertEquals("[[, end)]", ranges(options, schema, n));
    assertEquals("[[, end)]", ranges(options, schema, new Or(a, n)));
  }

  @Test
  void aSaltedKeyIsOneRowWhereAllOfItIsKnownAndARangePerBucketElse() {
    HBaseOptions options = Rows.options("salt", "4");
    StructType schema = schema("id", DataTypes.StringType);
    KeyConstraint constraint = constraint(options, schema);
    List<KeyRange> one = constraint.of(compare("id", "=", "k", DataTypes.StringType)).ranges();
    assertEquals(1, one.size());
    assertEquals(RowKeyEncoder.bucket(new byte[] {'k'}, 0, 1, 4), one.get(0).start()[0]);
    assertEquals(4, constraint.of(compare("id", "STARTS_WITH", "k", DataTypes.StringType)).ranges().size());
  }

  /** Whatever the key and the predicate: a row that satisfies it is in exactly one range. */
  @ParameterizedTest
  @CsvSource({"native,0", "native,5", "string,0", "string,3"})
  void noRowIsLost(String encoding, String salt) throws Exception {
    Random random = new Random(7);
    HBaseOptions options = Rows.options("row-key", "[\"a\",\"n\",\"b\"]", "encoding", encoding, "salt", salt);
    StructType schema = new StructType().add("a", DataTypes.StringType).add("n", DataTypes.ByteType)
        .add("b", DataTypes.StringType).add("v", DataTypes.StringType);
    RowKeyEncoder encoder = new RowKeyEncoder(options, Mapping.forWrite(options, schema).key());
    KeyConstraint constraint = constraint(options, schema);
    int narrowed = 0;
    for (int i = 0; i < 3_000; i++) {
      Sample sample = new Sample(random);
      List<KeyRange> ranges = constraint.and(constraint.of(sample.predicate())).ranges();
      narrowed += ranges.size() == 1 && ranges.get(0) == KeyRange.ALL ? 0 : 1;
      for (int j = 0; j < 20; j++) {
        String a = text(random);
        byte n = (byte) random.nextInt(-4, 4);
        String b = text(random);
        byte[] key = encoder.encode(Rows.row(a, n, b, "v"));
        long holders = ranges.stream().filter(range -> range.intersect(KeyRange.ofKey(key)) != null).count();
        assertTrue(holders <= 1, "a row would be read twice");
        assertTrue(holders == 1 || !sample.holds(a, n, b), () -> sample + " loses " + Bytes.toStringBinary(key));
      }
    }
    assertTrue(narrowed > 300, narrowed + " predicates narrow the scan");
  }

  private static String text(Random random) {
    String[] alphabet = {"\0", "\u0001", "|", "\\", "a", "]", "ÿ"};
    StringBuilder text = new StringBuilder();
    for (int n = random.nextInt(3); n > 0; n--) {
      text.append(alphabet[random.nextInt(alphabet.length)]);
    }
    return text.toString();
  }

  /** A comparison for each of some columns, joined by AND or OR. */
  private static final class Sample {
    private final List<String> names = new ArrayList<>();
    private final List<String> operators = new ArrayList<>();
    private final List<Object> values = new ArrayList<>();
    private final boolean isAnd;

    Sample(Random random) {
      isAnd = random.nextInt(3) > 0;
      for (int i = random.nextInt(1, 5); i > 0; i--) {
        String name = new String[] {"a", "a", "n", "b"}[random.nextInt(4)];
        names.add(name);
        operators.add(random.nextInt(4) == 0 && !name.equals("n") ? "STARTS_WITH" : OPERATORS[random.nextInt(6)]);
        values.add(name.equals("n") ? (Object) (byte) random.nextInt(-4, 4) : text(random));
      }
    }

    Predicate predicate() {
      Predicate all = null;
      for (int i = 0; i < names.size(); i++) {
        DataType type = names.get(i).equals("n") ? DataTypes.ByteType : DataTypes.StringType;
        Predicate one = compare(names.get(i), operators.get(i), values.get(i), type);
        all = all == null ? one : isAnd ? new And(all, one) : new Or(all, one);
      }
      return all;
    }

    boolean holds(String a, byte n, String b) {
      boolean result = isAnd;
      for (int i = 0; i < names.size(); i++) {
        Object value = names.get(i).equals("a") ? a : names.get(i).equals("n") ? (Object) n : b;
        boolean one = holds(value, operators.get(i), values.get(i));
        result = isAnd ? result && one : result || one;
      }
      return result;
    }

    private static boolean holds(Object value, String operator, Object literal) {
      if (operator.equals("STARTS_WITH")) {
        return ((String) value).startsWith((String) literal);
      }
      int order = value instanceof Byte number ? Byte.compare(number, (Byte) literal)
          : UTF8String.fromString((String) value).compareTo(UTF8String.fromString((String) literal));
      return switch (operator) {
        case "<" -> order < 0;
        case "<=" -> order <= 0;
        case ">" -> order > 0;
        case ">=" -> order >= 0;
        default -> order == 0;
      };
    }

    @Override
    public String toString() {
      return names + " " + operators + " " + values + (isAnd ? " AND" : " OR");
    }
  }
}
