/** The HBase table as a Spark data source: a sink that writes versioned mutations and a reader that is its exact inverse. */
package io.milepost.hbase;
