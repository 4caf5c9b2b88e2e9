/** The Avro format. */
package io.milepost.decode.avro;
