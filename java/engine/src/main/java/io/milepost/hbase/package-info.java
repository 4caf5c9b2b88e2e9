/** The HBase table as a Spark data source: where Spark enters to write or to read. */
package io.milepost.hbase;
