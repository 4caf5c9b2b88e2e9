package io.milepost.kafka.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class OffsetOwnerTest {
  @Test
  void metadataNamesTheTopicOfItsOffset() {
    String metadata = OffsetOwner.metadata("c1", "qX4");
    assertEquals("{\"milepost\":{\"cluster-id\":\"c1\",\"topic-id\":\"qX4\"}}\0", metadata);
    assertEquals("qX4", OffsetOwner.topicId(metadata, "c1"));
    assertEquals("qX4", OffsetOwner.topicId(metadata.replace("\0", ""), "c1"));
  }

  @Test
  void metadataThatWasMirroredFromAnotherClusterSaysNothing() {
    assertNull(OffsetOwner.topicId(OffsetOwner.metadata("c1", "qX4"), "c2"));
    assertNull(OffsetOwner.topicId(OffsetOwner.metadata("c1", "qX4"), null));
  }

  @Test
  void aClusterWithoutAnIdIsItself() {
    assertEquals("qX4", OffsetOwner.topicId(OffsetOwner.metadata(null, "qX4"), null));
  }

  @Test
  void metadataOfOtherToolsSaysNothing() {
    for (String metadata : new String[] {null, "", " ", "flink", "{}", "[1]", "7", "{\"milepost\":7}", "{\"milepost\":{\"topic-id\":7}}"}) {
      assertNull(OffsetOwner.topicId(metadata, null), metadata);
    }
  }
}
