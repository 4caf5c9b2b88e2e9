"""All that metrics are read from."""

from __future__ import annotations

from tests.unit.rest.asgi import JOB, Server, ack, completed
from tests.unit.rest.metrics.snapshots import PROGRESS, snapshot

from milepost.rest.metrics.snapshot import take_snapshot


def test_a_moment_is_what_the_job_has_in_memory(server: Server):
    server.job.latest_progress = PROGRESS
    wrote = ack("writer/0", rows=70, details={"puts": 60})
    server.job.checkpoints.stats.add(completed(3, wrote))
    server.job.counters.begin({}, 9, dict)
    seen = take_snapshot(server.view)
    assert (seen.job_id, seen.restarts, seen.counters.epoch) == (JOB, 2, 9)
    assert seen.checkpoints.latest_completed == completed(3, wrote)
    assert seen.totals("puts") == 60
    assert seen.position == PROGRESS.position


def test_topics_belong_to_the_source_that_reads_them():
    seen = snapshot()
    assert seen.topics_of(seen.config.views["source"]) == PROGRESS.position
