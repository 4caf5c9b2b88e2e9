/** What the broker reports about topics: their offsets, their ids and the growth of their partitions. */
package io.milepost.kafka.topic;
