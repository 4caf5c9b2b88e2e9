"""A history is read once, and then only what was added to it, also over the beginning of a new file."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.history import History, JobEvent
from milepost.checkpoint.store.history_follower import HistoryFollower
from milepost.checkpoint.store.store import LocalStore

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def moved(number: int) -> JobEvent:
    return JobEvent(at=START + timedelta(seconds=number), job_id="j", status="RUNNING", detail=str(number))


def told(follower: HistoryFollower) -> list[str]:
    return [event.detail for event in follower.news() if isinstance(event, JobEvent)]


def test_everything_comes_once_and_oldest_first(tmp_path: Path):
    store = LocalStore(tmp_path)
    history, follower = History(store), HistoryFollower(store)
    assert told(follower) == []
    history.append(moved(1))
    history.append(moved(2))
    assert told(follower) == ["1", "2"]
    assert told(follower) == []
    history.append(moved(3))
    assert told(follower) == ["3"]


def test_nothing_is_lost_or_told_twice_when_a_new_file_begins(tmp_path: Path):
    store = LocalStore(tmp_path)
    history, follower = History(store, rotate_at=600), HistoryFollower(store)
    heard = []
    for number in range(12):
        history.append(moved(number))
        if number % 3 == 1:
            heard += told(follower)
    assert heard + told(follower) == [str(number) for number in range(12)]


def test_the_first_look_reads_the_older_file_too(tmp_path: Path):
    store = LocalStore(tmp_path)
    history = History(store, rotate_at=300)
    for number in range(4):
        history.append(moved(number))
    assert store.size(names.OLDER_HISTORY)
    kept = [event.detail for event in reversed(history.read()) if isinstance(event, JobEvent)]
    assert told(HistoryFollower(store)) == kept
    assert len(kept) > 1


def test_a_line_that_is_still_written_is_waited_for(tmp_path: Path):
    store = LocalStore(tmp_path)
    follower = HistoryFollower(store)
    History(store).append(moved(1))
    path = store.path(names.HISTORY)
    line = path.read_bytes()
    path.write_bytes(line + line[:20])
    assert told(follower) == ["1"]
    path.write_bytes(line + line)
    assert told(follower) == ["1"]
    path.write_bytes(line + line + b"no event\n")
    assert told(follower) == []
