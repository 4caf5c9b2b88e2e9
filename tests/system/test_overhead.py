"""The short form of `make bench`: what the spine adds to a batch stays small. The real figures are the bench's."""

from __future__ import annotations

import itertools
import statistics
from pathlib import Path

import pytest
from tests.system.lab import Lab, numbered, wait_until

from milepost.checkpoint.store.layout import Layout
from milepost.config import Config
from milepost.job.prepare import prepare_job

BATCHES = 12
ROWS = 50
NOISE = 1.5
"""Far above the bench's 1.03: two cores and a busy machine; a spine that waits for something is slower than this."""


def batch_ms(config: Config) -> float:
    """Return the median time between two commits of a run."""
    commits = Layout(Path(config.checkpointing.dir)).commits
    written = sorted(path.stat().st_mtime_ns for path in commits.iterdir() if path.name.isdigit())
    gaps = [later - earlier for earlier, later in itertools.pairwise(written)]
    return statistics.median(gaps) / 1e6


def without_coordinator(lab: Lab, config: Config) -> None:
    """Run the same pipeline on the engine alone: the gate is free, and nobody is asked at the seal."""
    ready = prepare_job(lab.spec(config))
    ready.engine_job.gate().free()
    query = (
        ready.query.rows.writeStream.format("milepost-hbase")
        .options(**ready.query.sink_options)
        .option("checkpointLocation", config.checkpointing.dir)
        .outputMode("update")
        .trigger(processingTime="0 seconds")
        .start()
    )
    try:
        wait_until(ready.engine_job.isFinished, "the engine has come to the end")
    finally:
        query.stop()


@pytest.mark.alone
def test_a_batch_with_the_spine_takes_about_as_long_as_one_without(lab: Lab) -> None:
    topic = lab.topic(*numbered(BATCHES * ROWS))
    alone, whole = [], []
    for _ in range(3):
        config = lab.numbers(topic, source={"max-offsets-per-trigger": ROWS}, checkpointing={"retained": 100})
        without_coordinator(lab, config)
        alone.append(batch_ms(config))
        config = lab.numbers(topic, source={"max-offsets-per-trigger": ROWS}, checkpointing={"retained": 100})
        lab.finish(config)
        whole.append(batch_ms(config))
    print(f"ms per batch: alone {alone}, with the spine {whole}")
    assert min(whole) <= NOISE * min(alone)
