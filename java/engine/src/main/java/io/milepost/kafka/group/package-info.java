/** The committed offsets of a consumer group. */
package io.milepost.kafka.group;
