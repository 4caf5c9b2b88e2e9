/** The read path of the data source: the inverse of the write path, with pushed-down predicates. */
package io.milepost.hbase.read;
