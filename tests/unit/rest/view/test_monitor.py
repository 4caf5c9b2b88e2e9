"""What a server watches: nothing before it runs, and everything ends with it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.rest.asgi import Server, completed
from tests.unit.rest.view.stock import saved

from milepost.errors import NotReachableError
from milepost.rest.view import monitor as module


def settled(server: Server) -> Any:
    pause = threading.Event()
    for _ in range(500):
        known = server.view.monitor.offset_query.last()
        if not known.is_running:
            return known
        pause.wait(0.01)
    raise AssertionError("still asking")


def test_threads_live_as_long_as_the_block(server: Server, monkeypatch: pytest.MonkeyPatch):
    monitor = server.view.monitor
    asked = threading.Event()

    def ends() -> dict[str, dict[int, int]]:
        asked.set()
        return {"orders": {0: 5}}

    monkeypatch.setattr(monitor, "_topic_ends", ends)
    before = {*threading.enumerate()}
    with monitor.running():
        assert asked.wait(10)
        begun = {*threading.enumerate()} - before
        assert {"sampler", "end-offsets"} <= {thread.name for thread in begun}
    assert monitor.latest == {"orders": {0: 5}}
    assert not any(thread.is_alive() for thread in begun if thread.name in ("sampler", "end-offsets"))


def test_without_a_checkpoint_there_is_nothing_to_compare(server: Server):
    server.view.monitor.offset_comparison()
    assert "There is no completed checkpoint yet" in settled(server).error


def test_how_a_checkpoint_stands_is_found_out_while_nobody_looks(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "compare", lambda *_, **__: [])
    monitor = server.view.monitor
    monkeypatch.setattr(monitor, "_topic_ends", dict)
    monitor._compared_at = -1e9
    monitor._fetch_ends()
    assert monitor.offset_query.last().result is None
    server.job.checkpoints.stats.add(completed(4))
    monitor._compared_at = -1e9
    monitor._fetch_ends()
    assert settled(server).result[0].checkpoint_id == 4


def test_a_checkpoint_that_has_completed_since_is_asked_for(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "compare", lambda *_, **__: [])
    monitor, stats, now = server.view.monitor, server.job.checkpoints.stats, [0.0]
    monitor.offset_query._clock = lambda: now[0]
    stats.add(completed(0))
    monitor.offset_comparison()
    assert settled(server).result[0].checkpoint_id == 0
    assert not monitor.offset_comparison().is_running
    stats.add(completed(3))
    assert not monitor.offset_comparison().is_running, "the broker was asked this very moment"
    now[0] = module.OLDEST_OF_A_PASSED_CHECKPOINT
    monitor.offset_comparison()
    assert settled(server).result[0].checkpoint_id == 3
    now[0] += module.OLDEST_OF_A_PASSED_CHECKPOINT
    assert not monitor.offset_comparison().is_running, "it is still the newest"


def test_the_checkpoint_that_a_job_was_restored_from_is_its_newest(server: Server):
    server.job.checkpoints.stats.restore(completed(8))
    assert server.view.monitor.newest() == completed(8)


def test_a_rehearsal_goes_on_without_the_broker(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def away(*_: Any, **__: Any) -> Any:
        raise NotReachableError("Kafka does not respond")

    monkeypatch.setattr(module, "check_restore", away)
    taken = saved(tmp_path / "other", tmp_path / "savepoints")
    assert server.view.monitor._check_restore(taken).unasked == "Kafka does not respond."
