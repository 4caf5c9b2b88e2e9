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
        known = server.served.watch.offsets.known()
        if not known.is_asking:
            return known
        pause.wait(0.01)
    raise AssertionError("still asking")


def test_threads_live_as_long_as_the_block(server: Server, monkeypatch: pytest.MonkeyPatch):
    watch = server.served.watch
    asked = threading.Event()

    def ends() -> dict[str, dict[int, int]]:
        asked.set()
        return {"orders": {0: 5}}

    monkeypatch.setattr(watch, "_topic_ends", ends)
    before = {*threading.enumerate()}
    with watch.running():
        assert asked.wait(10)
        begun = {*threading.enumerate()} - before
        assert {"sampler", "end-offsets"} <= {thread.name for thread in begun}
    assert watch.latest == {"orders": {0: 5}}
    assert not any(thread.is_alive() for thread in begun if thread.name in ("sampler", "end-offsets"))


def test_without_a_checkpoint_there_is_nothing_to_compare(server: Server):
    server.served.watch.standing()
    assert "There is no completed checkpoint yet" in settled(server).error


def test_how_a_checkpoint_stands_is_found_out_while_nobody_looks(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "compare", lambda *_, **__: [])
    watch = server.served.watch
    monkeypatch.setattr(watch, "_topic_ends", dict)
    watch._compared_at = -1e9
    watch._asked_ends()
    assert watch.offsets.known().result is None
    server.job.checkpoints.stats.add(completed(4))
    watch._compared_at = -1e9
    watch._asked_ends()
    assert settled(server).result[0].checkpoint_id == 4


def test_a_checkpoint_that_has_completed_since_is_asked_for(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "compare", lambda *_, **__: [])
    watch, stats, now = server.served.watch, server.job.checkpoints.stats, [0.0]
    watch.offsets._clock = lambda: now[0]
    stats.add(completed(0))
    watch.standing()
    assert settled(server).result[0].checkpoint_id == 0
    assert not watch.standing().is_asking
    stats.add(completed(3))
    assert not watch.standing().is_asking, "the broker was asked this very moment"
    now[0] = module.OLDEST_OF_A_PASSED_CHECKPOINT
    watch.standing()
    assert settled(server).result[0].checkpoint_id == 3
    now[0] += module.OLDEST_OF_A_PASSED_CHECKPOINT
    assert not watch.standing().is_asking, "it is still the newest"


def test_the_checkpoint_that_a_job_was_restored_from_is_its_newest(server: Server):
    server.job.checkpoints.stats.restore(completed(8))
    assert server.served.watch.newest() == completed(8)


def test_a_rehearsal_goes_on_without_the_broker(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def away(*_: Any, **__: Any) -> Any:
        raise NotReachableError("Kafka does not answer")

    monkeypatch.setattr(module, "check_restore", away)
    taken = saved(tmp_path / "other", tmp_path / "savepoints")
    assert server.served.watch._rehearsed(taken).unasked == "Kafka does not answer."
