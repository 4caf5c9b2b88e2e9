/**
 * From a Kafka record's bytes to Catalyst values, once per record on the hot path. A decoder is confined to one task,
 * is cheap to create, and answers with values or with {@link io.milepost.record.BadRecordException}; nothing else.
 */
package io.milepost.decode;
