package io.milepost.decode.avro;

import io.milepost.decode.text.Detail;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Chooses the reader of each Avro type, for the Catalyst type that {@link AvroSchemas#columns} gives it. Spark's own
 * deserializer is not used: it trusts the lengths and the text in the bytes, and truncates a decimal that is too
 * wide.
 */
final class AvroReaders {
  private static final int FIRST_CAPACITY = 8;

  private AvroReaders() {}

  static AvroReader[] fields(Schema record, StructType type, String path) {
    List<Schema.Field> fields = record.getFields();
    AvroReader[] readers = new AvroReader[fields.size()];
    for (int i = 0; i < readers.length; i++) {
      String name = fields.get(i).name();
      readers[i] = of(fields.get(i).schema(), type.fields()[i].dataType(), path.isEmpty() ? name : path + '.' + name);
    }
    return readers;
  }

  static AvroReader of(Schema schema, DataType type, String path) {
    return switch (schema.getType()) {
      case RECORD -> record(fields(schema, (StructType) type, path));
      case ARRAY -> {
        Schema element = schema.getElementType();
        yield array(of(element, ((ArrayType) type).elementType(), path + "[]"), leastBytes(element));
      }
      case MAP -> map(of(schema.getValueType(), ((MapType) type).valueType(), path + ".*"), path);
      case UNION -> union(schema, type, path);
      default -> AvroScalars.of(schema, type, path);
    };
  }

  private static AvroReader record(AvroReader[] fields) {
    return input -> {
      Object[] values = new Object[fields.length];
      for (int i = 0; i < fields.length; i++) {
        values[i] = fields[i].read(input);
      }
      return new GenericInternalRow(values);
    };
  }

  private static AvroReader array(AvroReader element, int leastBytes) {
    return input -> {
      Object[] values = new Object[FIRST_CAPACITY];
      int n = 0;
      int block;
      while ((block = input.readBlockCount(n, leastBytes)) > 0) {
        for (; block > 0; block--) {
          if (n == values.length) {
            values = Arrays.copyOf(values, 2 * n);
          }
          values[n++] = element.read(input);
        }
      }
      return new GenericArrayData(Arrays.copyOf(values, n));
    };
  }

  private static AvroReader map(AvroReader value, String path) {
    return input -> {
      // A set as large as the map: Spark assumes that the keys of a map differ.
      Set<UTF8String> seen = new HashSet<>();
      List<Object> keys = new ArrayList<>();
      List<Object> values = new ArrayList<>();
      int block;
      while ((block = input.readBlockCount(keys.size(), 1)) > 0) {
        for (; block > 0; block--) {
          UTF8String key = input.readString();
          if (!seen.add(key)) {
            throw Detail.malformed("the map `" + Detail.shortened(path) + "` has a key twice");
          }
          keys.add(key);
          values.add(value.read(input));
        }
      }
      return new ArrayBasedMapData(new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
    };
  }

  /** null and one type is that type; int or long is long; float or double is double; all else a struct of members. */
  private static AvroReader union(Schema schema, DataType type, String path) {
    List<Schema> branches = schema.getTypes();
    AvroReader[] readers = new AvroReader[branches.size()];
    long real = branches.stream().filter(branch -> branch.getType() != Schema.Type.NULL).count();
    boolean widened = real == 2 && (type instanceof LongType || type instanceof DoubleType);
    int member = 0;
    for (int i = 0; i < readers.length; i++) {
      Schema branch = branches.get(i);
      if (branch.getType() == Schema.Type.NULL) {
        readers[i] = input -> null;
      } else if (real == 1) {
        readers[i] = of(branch, type, path);
      } else if (widened) {
        readers[i] = widened(branch.getType());
      } else {
        readers[i] = member((StructType) type, member++, branch, path);
      }
    }
    return input -> readers[input.readIndex(readers.length, "a union's branch")].read(input);
  }

  private static AvroReader widened(Schema.Type type) {
    return switch (type) {
      case INT -> input -> (long) input.readInt();
      case LONG -> input -> input.readLong();
      case FLOAT -> input -> (double) input.readFloat();
      default -> input -> input.readDouble();
    };
  }

  private static AvroReader member(StructType type, int index, Schema branch, String path) {
    int size = type.size();
    AvroReader reader = of(branch, type.fields()[index].dataType(), path + '.' + type.fieldNames()[index]);
    return input -> {
      Object[] values = new Object[size];
      values[index] = reader.read(input);
      return new GenericInternalRow(values);
    };
  }

  /** The minimum size of a value, so that a count of elements can be compared with the bytes that are left. */
  private static int leastBytes(Schema schema) {
    return switch (schema.getType()) {
      case NULL -> 0;
      case FIXED -> schema.getFixedSize();
      case FLOAT -> 4;
      case DOUBLE -> 8;
      case RECORD -> schema.getFields().stream().mapToInt(field -> leastBytes(field.schema())).sum();
      default -> 1;
    };
  }
}
