/** Bulk load: tasks write HFiles, and the driver loads them when the checkpoint is sealed. */
package io.milepost.hbase.bulkload;
