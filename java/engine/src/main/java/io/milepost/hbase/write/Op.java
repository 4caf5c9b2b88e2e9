package io.milepost.hbase.write;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/** The operation of a row, by the words of Debezium, Canal, Flink's row kinds, and our own. */
enum Op {
  UPSERT("upsert", "c", "r", "u", "INSERT", "UPDATE", "+I", "+U"),
  DELETE("delete", "d", "DELETE", "-D"),
  /** The old image of an update: its new image follows as a record of its own. */
  IGNORE("UPDATE_BEFORE", "-U");

  private static final Map<UTF8String, Op> BY_WORD = new HashMap<>();

  static {
    for (Op op : values()) {
      for (String word : op.words) {
        BY_WORD.put(UTF8String.fromString(word), op);
      }
    }
  }

  private final String[] words;

  Op(String... words) {
    this.words = words;
  }

  /** Null where the word is unknown; case matters, as it does in the systems that write the word. */
  static Op of(UTF8String word) {
    return BY_WORD.get(word);
  }
}
