/** Rows into topics of Kafka: transactions that are open from a task's first row to the completion of its checkpoint. */
package io.milepost.kafkasink;
