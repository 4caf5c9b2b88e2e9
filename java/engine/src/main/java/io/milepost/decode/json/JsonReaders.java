package io.milepost.decode.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.milepost.decode.text.Utf8;
import io.milepost.record.BadRecordException;
import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.CharType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VarcharType;
import org.apache.spark.unsafe.types.UTF8String;

/** Chooses the reader of each declared type; a type that JSON cannot represent is refused before any record is read. */
public final class JsonReaders {
  private static final int FIRST_CAPACITY = 8;

  private JsonReaders() {}

  /** The document's reader. */
  static JsonStruct root(StructType type) {
    return struct(type, "");
  }

  private static JsonStruct struct(StructType type, String path) {
    return new JsonStruct(type.fields(), readers(type.fields(), path));
  }

  private static JsonReader[] readers(StructField[] fields, String path) {
    JsonReader[] readers = new JsonReader[fields.length];
    for (int i = 0; i < fields.length; i++) {
      String name = fields[i].name();
      readers[i] = of(fields[i].dataType(), path.isEmpty() ? name : path + '.' + name);
    }
    return readers;
  }

  /** The reader of one value; `path` names it where the type is refused. */
  public static JsonReader of(DataType type, String path) {
    if (type instanceof StructType struct) {
      return struct(struct, path);
    }
    if (type instanceof ArrayType array) {
      return array(array, of(array.elementType(), path + "[]"));
    }
    if (type instanceof MapType map) {
      if (!isText(map.keyType())) {
        throw refused(path, type, "a JSON key is a text: declare MAP<STRING, …>");
      }
      return map(map, of(map.valueType(), path + ".*"));
    }
    JsonReader scalar = scalar(type);
    if (scalar == null) {
      throw refused(path, type, type instanceof CharType || type instanceof VarcharType
          ? "declare STRING" : "JSON has no form of it that Milepost reads: declare STRING and CAST in the transform");
    }
    return scalar;
  }

  private static JsonReader scalar(DataType type) {
    if (isText(type)) {
      return JsonScalars::readString;
    } else if (type instanceof LongType) {
      return JsonScalars::readLong;
    } else if (type instanceof IntegerType) {
      return JsonScalars::readInt;
    } else if (type instanceof ShortType) {
      return JsonScalars::readShort;
    } else if (type instanceof ByteType) {
      return JsonScalars::readByte;
    } else if (type instanceof DoubleType) {
      return JsonScalars::readDouble;
    } else if (type instanceof FloatType) {
      return JsonScalars::readFloat;
    } else if (type instanceof DecimalType decimal) {
      return JsonScalars.decimals(decimal);
    } else if (type instanceof BooleanType) {
      return JsonScalars::readBoolean;
    } else if (type instanceof DateType) {
      return JsonScalars::readDate;
    } else if (type instanceof TimestampType) {
      return JsonScalars::readTimestamp;
    } else if (type instanceof TimestampNTZType) {
      return JsonScalars::readLocalTimestamp;
    } else if (type instanceof BinaryType) {
      return JsonScalars::readBinary;
    }
    return null;
  }

  private static boolean isText(DataType type) {
    return type instanceof StringType && !(type instanceof CharType) && !(type instanceof VarcharType);
  }

  private static IllegalArgumentException refused(String path, DataType type, String why) {
    return new IllegalArgumentException(
        "schema: the field `" + path + "` is declared " + type.sql() + "; " + why + ".");
  }

  private static JsonReader array(ArrayType type, JsonReader element) {
    String declared = type.elementType().sql();
    return (parser, first) -> {
      if (first != JsonToken.START_ARRAY) {
        throw JsonFault.found(parser, first, "ARRAY");
      }
      Object[] values = new Object[FIRST_CAPACITY];
      int n = 0;
      JsonToken token;
      while ((token = parser.nextToken()) != JsonToken.END_ARRAY) {
        if (n == values.length) {
          values = Arrays.copyOf(values, 2 * n);
        }
        values[n++] = element(parser, token, element, type.containsNull() ? null : declared);
      }
      return new GenericArrayData(Arrays.copyOf(values, n));
    };
  }

  private static JsonReader map(MapType type, JsonReader value) {
    String declared = type.valueType().sql();
    NameSet names = new NameSet();
    return (parser, first) -> {
      if (first != JsonToken.START_OBJECT) {
        throw JsonFault.found(parser, first, "MAP");
      }
      names.clear();
      Object[] keys = new Object[FIRST_CAPACITY];
      Object[] values = new Object[FIRST_CAPACITY];
      int n = 0;
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        if (n == keys.length) {
          keys = Arrays.copyOf(keys, 2 * n);
          values = Arrays.copyOf(values, 2 * n);
        }
        keys[n] = key(parser, names);
        values[n++] = element(parser, parser.nextToken(), value, type.valueContainsNull() ? null : declared);
      }
      return new ArrayBasedMapData(
          new GenericArrayData(Arrays.copyOf(keys, n)), new GenericArrayData(Arrays.copyOf(values, n)));
    };
  }

  private static UTF8String key(JsonParser parser, NameSet names) throws IOException, BadRecordException {
    String name = names.addCurrent(parser);
    byte[] bytes = Utf8.encode(name);
    if (bytes == null) {
      throw JsonFault.loneSurrogate(parser);
    }
    return UTF8String.fromBytes(bytes);
  }

  /** One element; {@code notNull} is the declared type where null is not allowed, else null. */
  private static Object element(JsonParser parser, JsonToken token, JsonReader reader, String notNull)
      throws IOException, BadRecordException {
    if (token != JsonToken.VALUE_NULL) {
      return reader.read(parser, token);
    }
    if (notNull != null) {
      throw JsonFault.isNull(parser, notNull);
    }
    return null;
  }
}
