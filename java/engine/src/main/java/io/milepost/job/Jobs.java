package io.milepost.job;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** The jobs of this driver, by id. Python creates them; sources and sinks look them up. */
public final class Jobs {
  private static final ConcurrentMap<String, Job> JOBS = new ConcurrentHashMap<>();

  private Jobs() {}

  /** Called from Python before the query is built. */
  public static Job create(String id) {
    Job job = new Job(id);
    if (JOBS.putIfAbsent(id, job) != null) {
      throw new IllegalStateException("Job '" + id + "' is already running in this process");
    }
    return job;
  }

  /** Called from Python when the query has ended. */
  public static void remove(String id) {
    JOBS.remove(id);
  }

  /** Called on the driver by source and sink. */
  public static Job of(String id) {
    Job job = id == null ? null : JOBS.get(id);
    if (job == null) {
      throw new IllegalStateException("No job '" + id + "' in this process: a gated stream is started by Milepost,"
          + " which sets the option `job`");
    }
    return job;
  }
}
