package io.milepost.kafkasink;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/** A transaction that is flushed and not yet committed, with what is needed to commit it. */
record OpenTransaction(String id, long producerId, short epoch) implements Serializable {
  private static final ObjectMapper JSON = new ObjectMapper();

  ObjectNode json() {
    return JSON.createObjectNode().put("id", id).put("producer-id", producerId).put("epoch", epoch);
  }

  /** Of a JSON array, as the manifest of a checkpoint has it. */
  static List<OpenTransaction> parse(String json) {
    try {
      List<OpenTransaction> transactions = new ArrayList<>();
      for (JsonNode each : JSON.readTree(json)) {
        transactions.add(new OpenTransaction(each.required("id").asText(), each.required("producer-id").asLong(),
            (short) each.required("epoch").asInt()));
      }
      return transactions;
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("Not transactions: " + json, e);
    }
  }
}
