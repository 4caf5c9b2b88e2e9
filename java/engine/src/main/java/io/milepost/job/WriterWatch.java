package io.milepost.job;

/** Looks whether the sink still belongs to this job. */
public interface WriterWatch {
  /** Confirms that this job still writes the sink, with the epoch that is being sealed; else the sentence that says why not. */
  String fault(long epoch);
}
