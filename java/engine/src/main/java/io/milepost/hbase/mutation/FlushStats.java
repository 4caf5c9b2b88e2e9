package io.milepost.hbase.mutation;

import java.io.Serializable;

/**
 * What a writer has sent to HBase, or written to HFiles.
 *
 * @param mutations the mutations sent, or the cells written; fewer than rows where rows were folded
 * @param bytes their size
 * @param count the number of flushes
 * @param millis the time spent in flushes
 * @param direct the mutations that did not need HBase's own client
 * @param superseded the mutations that HBase refused because the row had a newer one
 */
public record FlushStats(long mutations, long bytes, long count, long millis, long direct, long superseded)
    implements Serializable {}
