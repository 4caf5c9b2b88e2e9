"""What routes read of a job: a picture of one moment, and samples sorted once per checkpoint."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.unit.rest.asgi import Server, completed

from milepost.checkpoint.model import Trigger
from milepost.checkpoint.stats.counts import Summary
from milepost.rest.view import job_view


def test_a_picture_does_not_change(server: Server):
    stats = server.job.checkpoints.stats
    stats.add(completed(1))
    before = server.view.checkpoints()
    stats.add(completed(2, trigger=Trigger.SAVEPOINT))
    after = server.view.checkpoints()
    assert ([each.checkpoint_id for each in before.history], before.latest_savepoint) == ([1], None)
    assert [each.checkpoint_id for each in after.history] == [2, 1]
    assert after.latest_savepoint is after.history[0]
    assert after.find(1) is after.history[1]
    assert after.find(9) is None


def test_samples_are_sorted_once_per_checkpoint(server: Server, monkeypatch: pytest.MonkeyPatch):
    calls: list[object] = []

    def summarize(samples: object) -> Summary:
        calls.append(samples)
        return Summary(maximum=1)

    monkeypatch.setattr(job_view, "summarize", summarize)
    server.job.checkpoints.stats.add(completed(1))
    assert [server.view.checkpoints().durations.maximum for _ in range(3)] == [1, 1, 1]
    assert len(calls) == 2


def test_savepoints_are_looked_for_only_where_one_was_taken(server: Server, monkeypatch: pytest.MonkeyPatch):
    shelf = server.view.monitor.savepoints
    monkeypatch.setattr(shelf, "savepoints", lambda: pytest.fail("nobody has taken one"))
    server.job.checkpoints.stats.add(completed(1))
    assert server.view.checkpoints_with_savepoints().savepoints == {}
    saved = completed(2, trigger=Trigger.SAVEPOINT)
    server.job.checkpoints.stats.add(saved)
    lying = SimpleNamespace(checkpoint_id=2, taken_at=saved.completed_at, path="/savepoints/a")
    monkeypatch.setattr(shelf, "savepoints", lambda: {"a": lying})
    found = server.view.checkpoints_with_savepoints().savepoints
    assert found == {(2, saved.completed_at): "/savepoints/a"}
