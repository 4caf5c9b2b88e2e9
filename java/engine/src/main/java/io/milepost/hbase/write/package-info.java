/** The write path of the data source: rows become versioned mutations. */
package io.milepost.hbase.write;
