package io.milepost.decode.change;

import java.util.Arrays;
import java.util.Objects;
import org.apache.spark.sql.types.StructType;

/** The columns of the row key, where the source knows them: there is no transformation between it and the sink. */
public final class RowKeyColumns {
  private final int[] ordinals;

  /** `names` is separated by commas; null, or a name that is not a column, means that the row key is unknown here. */
  public RowKeyColumns(StructType columns, String names) {
    int[] found = names == null ? new int[0]
        : Arrays.stream(names.split(",")).mapToInt(Arrays.asList(columns.fieldNames())::indexOf).toArray();
    ordinals = Arrays.stream(found).allMatch(ordinal -> ordinal >= 0) ? found : new int[0];
  }

  boolean areKnown() {
    return ordinals.length > 0;
  }

  /** Whether a part of the row key is null; false where the row key is not known. */
  boolean isMissingIn(Object[] values) {
    return Arrays.stream(ordinals).anyMatch(ordinal -> values[ordinal] == null);
  }

  /** Whether both rows are known to have different row keys. */
  boolean differ(Object[] one, Object[] other) {
    return areKnown() && !isMissingIn(one) && !isMissingIn(other)
        && Arrays.stream(ordinals).anyMatch(ordinal -> !Objects.deepEquals(one[ordinal], other[ordinal]));
  }
}
