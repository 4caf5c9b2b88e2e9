package io.milepost.decode.json;

import com.fasterxml.jackson.core.JsonParser;
import io.milepost.record.BadRecordException;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;

/** The names that occur in one object: a short list that is compared, and a set only when the list grows long. */
public final class NameSet {
  private static final int SHORT = 16;
  /** A larger set is dropped, because clearing it costs its capacity. */
  private static final int KEPT = 1024;

  private final String[] names = new String[SHORT];
  private int count;
  private Set<String> rest = Set.of();

  public void clear() {
    count = 0;
    if (!rest.isEmpty()) {
      if (rest.size() > KEPT) {
        rest = Set.of();
      } else {
        rest.clear();
      }
    }
  }

  /** Adds the name of the current field of the parser and returns it; refuses a duplicate. */
  public String addCurrent(JsonParser parser) throws IOException, BadRecordException {
    String name = parser.currentName();
    if (!add(name)) {
      throw JsonFault.duplicate(parser);
    }
    return name;
  }

  /** Adds the name; false if it is already there. */
  boolean add(String name) {
    for (int i = 0; i < count; i++) {
      if (names[i].equals(name)) {
        return false;
      }
    }
    if (count < SHORT) {
      names[count++] = name;
      return true;
    }
    if (!(rest instanceof HashSet)) {
      rest = new HashSet<>();
    }
    return rest.add(name);
  }
}
