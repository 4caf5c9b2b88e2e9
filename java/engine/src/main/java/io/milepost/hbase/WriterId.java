package io.milepost.hbase;

import java.io.Serializable;

/** Which attempt of which task of which epoch a writer serves. */
record WriterId(int partition, int attempt, long task, long epoch) implements Serializable {}
