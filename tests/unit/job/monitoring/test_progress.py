from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone

from tests.unit.rest.asgi import ack, completed

from milepost.checkpoint.stats.counts import CheckpointStats
from milepost.job.monitoring.progress import (
    RateMeter,
    parse_progress,
    with_totals,
)

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
STATUS = {
    "sealed": 4,
    "running": 5,
    "tasks": 4,
    "acknowledged": 3,
    "finished": False,
    "positions": ['{"t":{"0":7,"1":8}}', '{"u":{"0":1}}'],
}


def test_status_is_read():
    progress = parse_progress(json.dumps(STATUS), NOW)
    assert (progress.sealed_batch, progress.running_batch) == (4, 5)
    assert (progress.acknowledged, progress.tasks) == (3, 4)
    assert progress.position == {"t": {0: 7, 1: 8}, "u": {0: 1}}


def test_before_the_first_checkpoint_there_is_none():
    progress = parse_progress(json.dumps(STATUS | {"sealed": -1, "running": -1}), NOW)
    assert progress.checkpoint_id is None
    assert progress.running_batch is None
    assert progress.rows == 0


def test_counts_are_those_of_the_checkpoints():
    stats = CheckpointStats()
    seen = parse_progress(json.dumps(STATUS), NOW)
    assert (with_totals(seen, stats).checkpoint_id, with_totals(seen, stats).rows) == (None, 0)
    stats.restore(replace(completed(3), late_total={"t": 500}))
    assert (with_totals(seen, stats).checkpoint_id, with_totals(seen, stats).late_count) == (3, 500)
    rejected = {"MALFORMED": 2, "NO_CHANGE": 5}
    stats.add(replace(completed(4, ack("writer/0", rows=12)), rejected=rejected, late_total={"t": 507}))
    shown = with_totals(seen, stats)
    assert (shown.checkpoint_id, shown.rows, shown.rejected_count, shown.late_count) == (4, 12, 2, 507)
    assert (shown.sealed_batch, shown.position) == (4, seen.position)


def test_rate_is_over_the_window():
    meter = RateMeter(window=5)
    assert meter.update(0.0, 0) == 0
    assert meter.update(1.0, 100) == 100
    assert meter.update(2.0, 300) == 150
    for second in range(3, 20):
        rate = meter.update(float(second), 300 + 10 * (second - 2))
    assert 10 <= rate < 15


def test_the_running_batch_shows_who_has_acknowledged():
    acks = [{"partition": 1, "rows": 5, "bytes": 90, "flush-ms": 7, "attempt": 0}]
    live = parse_progress(json.dumps(STATUS | {"acks": acks}), NOW).live_batch()
    assert live is not None
    assert (live.batch_id, live.tasks) == (5, 4)
    assert [(a.participant, a.rows, a.bytes, a.duration_ms) for a in live.acknowledgements] == [
        ("writer/1", 5, 90, 7)
    ]


def test_a_batch_that_goes_into_hfiles_shows():
    acks = [{"partition": 0, "write": "bulk-load"}, {"partition": 1, "write": "mutations"}]
    assert parse_progress(json.dumps(STATUS | {"acks": acks[:1]}), NOW).is_bulk_load
    assert not parse_progress(json.dumps(STATUS | {"acks": acks[1:]}), NOW).is_bulk_load
    assert not parse_progress(json.dumps(STATUS), NOW).is_bulk_load


def test_a_sealed_batch_is_not_live_any_more():
    assert parse_progress(json.dumps(STATUS | {"sealed": 5}), NOW).live_batch() is None
