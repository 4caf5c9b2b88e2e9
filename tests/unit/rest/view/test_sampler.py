"""Samples have rates over a window, lag where the broker answers, and an end of their number."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from tests.unit.rest.asgi import START

from milepost.checkpoint.model import Offsets
from milepost.job.monitoring.progress import Progress
from milepost.rest.view import sampler as module
from milepost.rest.view.sampler import (
    KEPT,
    LINES,
    Sampler,
    count_progress,
    lag_by_line,
)


def progress(rows: int, position: Offsets, **values: int) -> Progress:
    return Progress(
        checkpoint_id=1,
        sealed_batch=1,
        running_batch=values.get("batch", 1),
        tasks=values.get("tasks", 0),
        acknowledged=0,
        finished=False,
        totals={"rows": rows},
        rejected={"BAD": 2, "NO_CHANGE": 5},
        position=position,
    )


class Stage:
    def __init__(self) -> None:
        self.latest_progress: Progress | None = None
        self.latest: Offsets | None = None
        self.sampler = Sampler(lambda: self.latest_progress, lambda: self.latest, interval=1.0)

    def at(self, seconds: float) -> None:
        self.sampler.sample(START + timedelta(seconds=seconds), 1000 + seconds)


def test_rates_are_of_rows_written_and_of_offsets_passed():
    stage = Stage()
    stage.at(0)
    assert stage.sampler.newest() is None
    stage.latest_progress = progress(100, {"t": {0: 1_000_000}})
    stage.at(2)
    stage.latest_progress = progress(140, {"t": {0: 1_000_060, 1: 77}})
    stage.latest = {"t": {0: 1_000_100, 1: 80}}
    stage.at(4)
    first, second = stage.sampler.samples()
    assert (first.rows_per_second, first.records_per_second, first.lag) == (0.0, None, None)
    assert (second.rows_per_second, second.records_per_second) == (20.0, 30.0)
    assert (second.lag, second.lags) == (43, {"t-0": 40, "t-1": 3})
    assert (second.rejected, second.batch) == (2, None)


def test_the_batch_in_flight_is_seen():
    stage = Stage()
    stage.latest_progress = progress(0, {}, batch=2, tasks=4)
    stage.at(0)
    newest = stage.sampler.newest()
    assert newest is not None
    assert (newest.batch, newest.tasks) == (2, 4)


def test_memory_is_bounded():
    stage = Stage()
    stage.latest_progress = progress(0, {})
    for number in range(KEPT + 10):
        stage.at(number)
    assert len(stage.sampler.samples()) == KEPT


def test_offsets_that_go_back_or_are_new_are_not_counted():
    assert count_progress({}, {"t": {0: 5}}) == 0
    assert count_progress({"t": {0: 9}}, {"t": {0: 5}}) == 0
    assert count_progress({"t": {0: 1, 1: 1}}, {"t": {0: 4, 1: 2, 2: 9}}) == 4


def test_many_partitions_are_told_by_topic_and_many_topics_not_at_all():
    many = {number: 10 for number in range(LINES + 1)}
    assert lag_by_line({"t": dict.fromkeys(many, 9)}, {"t": many}) == {"t": LINES + 1}
    assert lag_by_line({}, {f"t{number}": {0: 1} for number in range(LINES + 1)}) == {}


def test_samples_are_taken_on_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "EVERY", 0.01)
    looked = threading.Event()

    def seen() -> Progress:
        looked.set()
        return progress(1, {})

    sampler = Sampler(seen, lambda: None, 1.0)
    with sampler.running():
        assert looked.wait(10)
    assert sampler.newest() is not None
    assert not any(thread.name == "sampler" for thread in threading.enumerate())
