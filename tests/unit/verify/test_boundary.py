"""Where a proof ends: at the newest completed checkpoint, as its directory says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.store import spark_log
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import NotReachableError
from milepost.verify.boundary import Boundary, end_of, newest_boundary, require_job, require_topics
from milepost.verify.log import Span


def span(begin: int, end: int, partition: int = 0) -> Span:
    return Span(topic="orders", partition=partition, begin=begin, end=end)


def test_the_newest_checkpoint_in_both_logs_is_the_boundary(tmp_path: Path) -> None:
    boundary = newest_boundary(SparkDirectory(tmp_path).batches(offsets=[0, 1, 2], commits=[0, 1]).store)
    assert (boundary.checkpoint_id, boundary.name) == (1, "checkpoint 1")
    assert boundary.offset(span(0, 99)) == 20
    assert (boundary.before(span(5, 99)), boundary.after(span(5, 99))) == (span(5, 20), span(20, 99))


def test_before_the_first_checkpoint_nothing_is_read(tmp_path: Path) -> None:
    boundary = newest_boundary(SparkDirectory(tmp_path).batches(offsets=[0], commits=[]).store)
    assert boundary.checkpoint_id is None
    assert (boundary.before(span(3, 9)), boundary.after(span(3, 9))) == (span(3, 3), span(3, 9))


def test_a_boundary_outside_of_the_log_is_moved_into_it() -> None:
    boundary = Boundary("checkpoint 1", {"orders": {0: 5, 1: 50}}, 1)
    assert boundary.after(span(7, 9)) == span(7, 9), "retention has removed what was to be read"
    assert boundary.before(span(7, 9)) == span(7, 7)
    assert boundary.before(span(7, 9, partition=1)) == span(7, 9, partition=1)
    assert boundary.after(span(0, 9, partition=2)) == span(0, 9, partition=2), "a new partition"


def test_the_end_of_the_log_can_be_the_boundary() -> None:
    boundary = end_of([span(0, 9), span(2, 7, partition=1)])
    assert (boundary.checkpoint_id, boundary.name) == (None, "the end of the log")
    assert boundary.after(span(0, 12)) == span(9, 12)


def test_a_directory_without_a_job_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "gone", tmp_path):
        with pytest.raises(NotReachableError, match="--at end") as caught:
            require_job(LocalStore(place))
        assert caught.value.exit_code == 3
    require_job(SparkDirectory(tmp_path).batches(offsets=[0], commits=[]).store)


def test_an_entry_that_a_running_job_has_let_go_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = SparkDirectory(tmp_path).batches(offsets=[0, 1], commits=[0, 1])
    real, asked = spark_log.read_offsets, []

    def read_offsets(store: Store, batch_id: int) -> tuple[Offsets, ...]:
        asked.append(batch_id)
        if len(asked) == 1:
            directory.batches(offsets=[2], commits=[2])
            raise FileNotFoundError(batch_id)
        return real(store, batch_id)

    monkeypatch.setattr(spark_log, "read_offsets", read_offsets)
    assert newest_boundary(directory.store).checkpoint_id == 2
    assert asked == [1, 2]


def test_a_directory_of_other_topics_is_refused(tmp_path: Path) -> None:
    store = SparkDirectory(tmp_path).batches(offsets=[0], commits=[0]).store
    require_topics(store, ["orders"])
    require_topics(store, ["^ord.*"])
    require_topics(SparkDirectory(tmp_path / "new").batches(offsets=[0], commits=[]).store, ["another"])
    for other in ("order.", "^or", "another"):
        with pytest.raises(NotReachableError, match="It reads orders, but this pipeline reads"):
            require_topics(store, [other])
