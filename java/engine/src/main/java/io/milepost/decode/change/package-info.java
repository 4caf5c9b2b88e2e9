/** The change-log formats: Debezium and Canal. */
package io.milepost.decode.change;
