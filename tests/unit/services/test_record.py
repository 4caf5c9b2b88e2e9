from __future__ import annotations

import json
from pathlib import Path

import pytest

from milepost.job.process_identity import RunningProcess
from milepost.services.model import State
from milepost.services.record import Record, is_ours, judge, load, save, started_at

MARKER = "-Dmilepost.services=/data/kafka"
READY = Record(
    pid=7, start_token="boot/100", ready=True, since="2026-01-01T00:00:00+00:00", ports={"broker": 9092}
)
STARTED = Record(pid=7, start_token="boot/100", ports={"broker": 9092})
OURS = RunningProcess(7, "boot/100", ("java", MARKER, "kafka.Kafka"))
DYING = RunningProcess(7, "boot/100", (), is_dying=True)
STARTED_JUST_NOW = RunningProcess(7, "boot/100", ())


@pytest.mark.parametrize(
    ("record", "process", "state"),
    [
        (Record(), None, State.STOPPED),
        (Record(ports={"broker": 9092}), OURS, State.STOPPED),
        (READY, OURS, State.RUNNING),
        (STARTED, OURS, State.STARTING),
        (READY, None, State.STALE),
        (READY, RunningProcess(7, "boot/999", OURS.command), State.STALE),
        (READY, RunningProcess(7, "other-boot/100", OURS.command), State.STALE),
        (READY, RunningProcess(7, "boot/100", ("java", "-Dmilepost.services=/elsewhere/kafka")), State.STALE),
        (READY, RunningProcess(7, "boot/100", ("vim", f"{MARKER} notes.txt")), State.STALE),
        (READY, DYING, State.STALE),
        (STARTED, STARTED_JUST_NOW, State.STARTING),
    ],
)
def test_judge_trusts_a_pid_only_with_start_token_and_marker(
    record: Record, process: RunningProcess, state: State
):
    assert judge(record, process, MARKER) is state


def test_dying_process_is_still_ours_to_wait_for():
    assert is_ours(READY, DYING, MARKER)
    assert not is_ours(READY, RunningProcess(7, "boot/999", ()), MARKER)


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


def test_stored_names_are_those_of_earlier_versions(tmp_path: Path):
    save(tmp_path / "process.json", READY)
    assert json.loads((tmp_path / "process.json").read_text()) == {
        "pid": 7,
        "born": "boot/100",
        "ready": True,
        "since": "2026-01-01T00:00:00+00:00",
        "ports": {"broker": 9092},
    }


def test_time_of_start_is_read_where_there_is_one():
    since = started_at(READY)
    assert since is not None
    assert since.isoformat() == READY.since
    assert started_at(Record()) is None
