/** Changes of rows: folded by row, buffered and sent to HBase in batches. */
package io.milepost.hbase.mutation;
