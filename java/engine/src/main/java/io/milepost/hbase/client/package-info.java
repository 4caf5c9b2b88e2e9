/** The options of the data source and the connections that they describe. */
package io.milepost.hbase.client;
