"""All that metrics are read from."""

from __future__ import annotations

from tests.unit.rest.asgi import JOB, Server, ack, completed
from tests.unit.rest.metrics.moments import PROGRESS, moment

from milepost.rest.metrics.snapshot import moment_of


def test_a_moment_is_what_the_job_has_in_memory(server: Server):
    server.job.latest_progress = PROGRESS
    wrote = ack("writer/0", rows=70, details={"puts": 60})
    server.job.checkpoints.stats.add(completed(3, wrote))
    server.job.counters.begin({}, 9, dict)
    seen = moment_of(server.served)
    assert (seen.job_id, seen.restarts, seen.counters.epoch) == (JOB, 2, 9)
    assert seen.checkpoints.latest_completed == completed(3, wrote)
    assert seen.totals("puts") == 60
    assert seen.position == PROGRESS.position


def test_topics_belong_to_the_source_that_reads_them():
    seen = moment()
    assert seen.source_of("my-orders") == "source"
    assert seen.source_of("others") is None
    assert seen.topics_of(seen.config.views["source"]) == PROGRESS.position
