package io.milepost.kafka.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.DisconnectException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.StaleMemberEpochException;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.junit.jupiter.api.Test;

class GroupOffsetsTest {
  private static final String TWO = "{\"t\":{\"0\":7,\"1\":0}}";
  private static final String IDS = "{\"t\":\"qX4\"}";
  private static final int SHORT_MS = 300;

  @Test
  void offsetsAreReadByTopicAndPartition() {
    assertEquals(
        Map.of(new TopicPartition("t", 0), 7L, new TopicPartition("t", 1), 0L, new TopicPartition("u", 3), 1L << 40),
        GroupOffsets.parse("{\"t\":{\"0\":7,\"1\":0},\"u\":{\"3\":1099511627776}}"));
  }

  @Test
  void whatIsNoOffsetIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> GroupOffsets.parse("latest"));
    assertThrows(IllegalArgumentException.class, () -> GroupOffsets.parse("{\"t\":{\"0\":\"7\"}}"));
    assertThrows(IllegalArgumentException.class, () -> GroupOffsets.parse("{\"t\":{\"0\":null}}"));
    assertThrows(IllegalArgumentException.class, () -> GroupOffsets.parseIds("latest"));
  }

  @Test
  void aFailureIsNamedForWhoHasToAct() {
    assertEquals("members", GroupOffsets.kind(new UnknownMemberIdException()));
    assertEquals("members", GroupOffsets.kind(new StaleMemberEpochException("m")));
    assertEquals("forbidden", GroupOffsets.kind(GroupAuthorizationException.forGroupId("g")));
    assertEquals("unauthenticated", GroupOffsets.kind(new SaslAuthenticationException("no")));
    assertEquals("unknown-partition", GroupOffsets.kind(new UnknownTopicOrPartitionException()));
    assertEquals("unreachable", GroupOffsets.kind(new TimeoutException()));
    assertEquals("unreachable", GroupOffsets.kind(new org.apache.kafka.common.errors.TimeoutException()));
    assertEquals("properties", GroupOffsets.kind(new KafkaException("Failed", new ConfigException("acks"))));
    assertEquals("other", GroupOffsets.kind(new DisconnectException()));
  }

  @Test
  void aBrokerThatDoesNotAnswerIsAnErrorOfEveryPartitionInBoundedTime() throws IOException {
    // Accepts connections, since nobody else listens, and says nothing.
    try (ServerSocket mute = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        GroupOffsets offsets = at("127.0.0.1:" + mute.getLocalPort())) {
      JsonNode read = assertTimeoutPreemptively(Duration.ofSeconds(10), () -> json(offsets.read(TWO)));
      assertEquals("unreachable", read.at("/errors/t/0/kind").asText());
      assertEquals("unreachable", read.at("/errors/t/1/kind").asText());
      assertTrue(read.get("offsets").isEmpty());
      JsonNode written = assertTimeoutPreemptively(Duration.ofSeconds(10), () -> json(offsets.commit(TWO, IDS)));
      assertEquals("unreachable", written.at("/errors/t/0/kind").asText());
      assertEquals("unreachable", written.at("/errors/t/1/kind").asText());
    }
  }

  @Test
  void aWrongPropertyIsNamedAndDoesNotThrow() throws IOException {
    try (GroupOffsets offsets = new GroupOffsets(
        Map.of("kafka.bootstrap.servers", "127.0.0.1:1", "kafka.security.protocol", "nonsense"), "g", SHORT_MS)) {
      JsonNode answer = json(offsets.read(TWO));
      assertEquals("properties", answer.at("/errors/t/0/kind").asText());
      assertTrue(answer.at("/errors/t/0/message").asText().contains("security.protocol"));
      assertEquals("properties", json(offsets.commit(TWO, IDS)).at("/errors/t/1/kind").asText());
    }
  }

  @Test
  void aNegativeOffsetIsAnErrorOfItsPartitionOnly() throws IOException {
    try (GroupOffsets offsets = at("127.0.0.1:1")) {
      assertEquals(
          "{\"offsets\":{},\"topic-ids\":{},\"errors\":{\"t\":{\"0\":{\"kind\":\"other\",\"message\":\"offset -2 is negative\"}}}}",
          offsets.commit("{\"t\":{\"0\":-2}}", IDS));
    }
  }

  @Test
  void afterCloseEveryCallIsAnErrorAndCloseMayComeAgain() throws IOException {
    GroupOffsets offsets = at("127.0.0.1:1");
    offsets.close();
    offsets.close();
    assertTrue(json(offsets.read(TWO)).at("/errors/t/0/message").asText().contains("closed"));
    assertTrue(json(offsets.commit(TWO, IDS)).at("/errors/t/1/message").asText().contains("closed"));
  }

  private static GroupOffsets at(String server) {
    return new GroupOffsets(Map.of("kafka.bootstrap.servers", server), "g", SHORT_MS);
  }

  private static JsonNode json(String answer) throws IOException {
    return new ObjectMapper().readTree(answer);
  }
}
