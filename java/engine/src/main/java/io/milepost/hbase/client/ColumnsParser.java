package io.milepost.hbase.client;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Parses the JSON of the options `row-key` and `columns` into names, without looking at a schema. */
public final class ColumnsParser {
  private static final ObjectMapper JSON = new ObjectMapper().enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);

  private ColumnsParser() {}

  /** Where one column of a row is stored. */
  public record Target(String family, String qualifier, String column) {}

  static List<String> rowKey(String text) {
    JsonNode node = parse(HBaseOptions.ROW_KEY, text);
    List<String> names = new ArrayList<>();
    for (JsonNode name : node) {
      names.add(name.isTextual() ? name.textValue() : "");
    }
    if (!node.isArray() || names.isEmpty() || names.contains("")) {
      throw HBaseOptions.invalid(HBaseOptions.ROW_KEY, text, "it must be a list of column names", "write [\"id\"]");
    }
    if (new HashSet<>(names).size() < names.size()) {
      throw HBaseOptions.invalid(HBaseOptions.ROW_KEY, text, "a column is named twice", "name each column once");
    }
    return names;
  }

  static List<Target> columns(String text) {
    JsonNode node = parse(HBaseOptions.COLUMNS, text);
    List<Target> targets = new ArrayList<>();
    node.properties().forEach(family -> {
      checkFamily(family.getKey());
      if (family.getValue().isArray()) {
        family.getValue().forEach(name -> targets.add(target(family.getKey(), name.asText(""), name)));
      } else {
        family.getValue().properties().forEach(
            entry -> targets.add(target(family.getKey(), entry.getKey(), entry.getValue())));
      }
    });
    if (targets.isEmpty()) {
      throw HBaseOptions.invalid(HBaseOptions.COLUMNS, text, "no column is mapped, and a row in HBase is made of cells",
          "write {\"d\": [\"customer\"]} or {\"d\": {\"qualifier\": \"column\"}}");
    }
    refuseTwice(targets);
    return targets;
  }

  private static Target target(String family, String qualifier, JsonNode column) {
    if (!column.isTextual() || column.textValue().isEmpty()) {
      throw HBaseOptions.invalid(HBaseOptions.COLUMNS, family + ":" + qualifier, "the column must be a name",
          "write {\"" + family + "\": [\"customer\"]} or {\"" + family + "\": {\"qualifier\": \"column\"}}");
    }
    return new Target(family, qualifier, column.textValue());
  }

  private static void checkFamily(String family) {
    if (family.isEmpty() || family.startsWith(".") || family.contains(":") || family.contains("/")
        || family.chars().anyMatch(Character::isISOControl)) {
      throw HBaseOptions.invalid(HBaseOptions.COLUMNS, family, "this is not a valid name for a column family",
          "use printable characters without ':' and '/', not starting with '.'");
    }
  }

  private static void refuseTwice(List<Target> targets) {
    Set<List<String>> seen = new HashSet<>();
    for (Target target : targets) {
      if (!seen.add(List.of(target.family(), target.qualifier()))) {
        throw HBaseOptions.invalid(HBaseOptions.COLUMNS, target.family() + ":" + target.qualifier(),
            "two columns map to this cell", "give each its own qualifier");
      }
    }
  }

  private static JsonNode parse(String option, String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException e) {
      throw HBaseOptions.invalid(option, text, "it is not valid JSON (" + e.getOriginalMessage() + ")",
          "write it as in the pipeline file, as JSON");
    }
  }
}
