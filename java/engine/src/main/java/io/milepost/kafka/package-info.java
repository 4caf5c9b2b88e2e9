/** The gated Kafka source: Spark's own Kafka connector behind a gate, with the records decoded as they are read. */
package io.milepost.kafka;
