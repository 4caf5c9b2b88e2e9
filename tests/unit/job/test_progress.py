from __future__ import annotations

import json

from milepost.job.progress import RateMeter, lag, parse_progress

STATUS = {
    "sealed": 4,
    "running": 5,
    "tasks": 4,
    "acknowledged": 3,
    "finished": False,
    "positions": ['{"t":{"0":7,"1":8}}', '{"u":{"0":1}}'],
    "totals": {"rows": 12},
    "rejected": {"MALFORMED": 2, "UNKNOWN_OP": 1},
}


def test_status_is_read():
    progress = parse_progress(json.dumps(STATUS))
    assert (progress.checkpoint_id, progress.running_batch) == (4, 5)
    assert (progress.acknowledged, progress.tasks) == (3, 4)
    assert progress.rows == 12
    assert progress.rejected_count == 3
    assert progress.position == {"t": {0: 7, 1: 8}, "u": {0: 1}}


def test_before_the_first_checkpoint_there_is_none():
    progress = parse_progress(json.dumps(STATUS | {"sealed": -1, "running": -1, "totals": {}}))
    assert progress.checkpoint_id is None
    assert progress.running_batch is None
    assert progress.rows == 0


def test_lag_is_summed_and_never_negative():
    assert lag({"t": {0: 5, 1: 9}}, {"t": {0: 8, 1: 7}}) == 3
    assert lag({}, {"t": {0: 8}}) == 0


def test_rate_is_over_the_window():
    meter = RateMeter(window=5)
    assert meter.look(0.0, 0) == 0
    assert meter.look(1.0, 100) == 100
    assert meter.look(2.0, 300) == 150
    for second in range(3, 20):
        rate = meter.look(float(second), 300 + 10 * (second - 2))
    assert 10 <= rate < 15
