from __future__ import annotations

import json
from pathlib import Path

import pytest

from milepost.services.model import State
from milepost.services.process import Sighting
from milepost.services.record import Record, is_ours, judge, load, save, started_at

MARKER = "-Dmilepost.services=/data/kafka"
READY = Record(pid=7, born="boot/100", ready=True, since="2026-01-01T00:00:00+00:00", ports={"broker": 9092})
STARTED = Record(pid=7, born="boot/100", ports={"broker": 9092})
OURS = Sighting(7, "boot/100", ("java", MARKER, "kafka.Kafka"))
DYING = Sighting(7, "boot/100", (), dying=True)
NEWBORN = Sighting(7, "boot/100", ())


@pytest.mark.parametrize(
    ("record", "sighting", "state"),
    [
        (Record(), None, State.STOPPED),
        (Record(ports={"broker": 9092}), OURS, State.STOPPED),
        (READY, OURS, State.RUNNING),
        (STARTED, OURS, State.STARTING),
        (READY, None, State.STALE),
        (READY, Sighting(7, "boot/999", OURS.command), State.STALE),
        (READY, Sighting(7, "other-boot/100", OURS.command), State.STALE),
        (READY, Sighting(7, "boot/100", ("java", "-Dmilepost.services=/elsewhere/kafka")), State.STALE),
        (READY, Sighting(7, "boot/100", ("vim", f"{MARKER} notes.txt")), State.STALE),
        (READY, DYING, State.STALE),
        (STARTED, NEWBORN, State.STARTING),
    ],
)
def test_judge_trusts_a_pid_only_with_birth_and_marker(record: Record, sighting: Sighting, state: State):
    assert judge(record, sighting, MARKER) is state


def test_dying_process_is_still_ours_to_wait_for():
    assert is_ours(READY, DYING, MARKER)
    assert not is_ours(READY, Sighting(7, "boot/999", ()), MARKER)


def test_saved_record_is_loaded_again(tmp_path: Path):
    path = tmp_path / "new folder" / "process.json"
    save(path, READY)
    assert load(path) == READY
    assert [file.name for file in path.parent.iterdir()] == ["process.json"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "{}", '{"pid": "x", "born": "", "ready": 1, "since": "", "ports": {}}']
)
def test_torn_or_foreign_file_is_no_record(tmp_path: Path, text: str):
    (tmp_path / "process.json").write_text(text)
    assert load(tmp_path / "process.json") == Record()


def test_missing_file_is_no_record(tmp_path: Path):
    assert load(tmp_path / "process.json") == Record()


def test_record_is_plain_json(tmp_path: Path):
    save(tmp_path / "process.json", READY)
    assert json.loads((tmp_path / "process.json").read_text())["pid"] == 7


def test_time_of_start_is_read_where_there_is_one():
    since = started_at(READY)
    assert since is not None
    assert since.isoformat() == READY.since
    assert started_at(Record()) is None
