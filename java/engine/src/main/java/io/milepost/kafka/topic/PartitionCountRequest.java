package io.milepost.kafka.topic;

import io.milepost.version.Eras;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;

/** Requests the topics of a source and the number of partitions of each. */
final class PartitionCountRequest {
  private PartitionCountRequest() {}

  /** Options of the source: `subscribe` or `subscribePattern`. */
  static Supplier<CompletableFuture<Map<String, Eras.Topic>>> of(Map<String, String> options, Admin admin) {
    String pattern = options.get("subscribePattern");
    if (pattern == null) {
      Set<String> topics = Set.copyOf(List.of(options.get("subscribe").split(",")));
      return () -> describe(admin, topics).toCompletableFuture();
    }
    Pattern compiled = Pattern.compile(pattern);
    return () -> admin.listTopics().names().toCompletionStage()
        .thenCompose(names -> describe(admin, names.stream()
            .filter(name -> !name.startsWith("__") && compiled.matcher(name).matches()).collect(Collectors.toSet())))
        .toCompletableFuture();
  }

  private static CompletionStage<Map<String, Eras.Topic>> describe(Admin admin, Set<String> topics) {
    return admin.describeTopics(topics).allTopicNames().toCompletionStage().thenApply(descriptions -> {
      Map<String, Eras.Topic> seen = new HashMap<>();
      for (TopicDescription each : descriptions.values()) {
        seen.put(each.name(), new Eras.Topic(each.topicId().toString(), each.partitions().size()));
      }
      return seen;
    });
  }
}
