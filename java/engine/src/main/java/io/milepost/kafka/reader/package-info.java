/** The records of a Kafka partition, decoded to rows as they are read. */
package io.milepost.kafka.reader;
