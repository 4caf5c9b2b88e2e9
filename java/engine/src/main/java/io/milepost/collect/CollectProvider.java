package io.milepost.collect;

import io.milepost.sink.StreamingProvider;

/** `format("milepost-rows")`: brings every row to the driver. */
public final class CollectProvider extends StreamingProvider {
  public CollectProvider() {
    super("milepost-rows", CollectStreamingWrite::new);
  }
}
