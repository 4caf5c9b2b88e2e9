"""What a job in the foreground says to a person and to a program."""

from __future__ import annotations

import json

import pytest

from milepost.cli import voice
from milepost.cli.voice import ForPeople, ForPrograms, now_and_then, progress_line
from milepost.errors import MilepostError, NotReachableError, StorageError
from milepost.job.ends import EndOffsets
from milepost.job.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.server import Address

PROGRESS = Progress(
    checkpoint_id=7,
    running_batch=8,
    tasks=4,
    acknowledged=1,
    finished=False,
    totals={"rows": 1_500},
    rejected={"undecodable": 2},
    position={"orders": {0: 40}},
)


def unreachable() -> dict[str, dict[int, int]]:
    raise OSError


def test_the_line_of_a_person() -> None:
    assert progress_line(PROGRESS, 99.6, {"orders": {0: 50}}) == (
        "1,500 rows · 100 rows/s · lag 10 · checkpoint 7 · acks 1/4 · rejected 2"
    )
    assert "lag unknown" in progress_line(PROGRESS, 0, None)


def test_the_end_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    ForPeople().ended("orders", JobStatus.FINISHED, PROGRESS)
    assert capsys.readouterr().out.splitlines() == [
        "Job orders FINISHED: 1,500 rows, 2 rejected, last checkpoint 7.",
        "  rejected undecodable: 2",
    ]


@pytest.mark.parametrize(
    "error",
    [
        StorageError("The directory /c is full", why="w", fix="f"),
        NotReachableError("HBase does not answer", fix="f"),
    ],
)
def test_what_may_last_takes_one_line_per_restart(
    error: MilepostError, capsys: pytest.CaptureFixture[str]
) -> None:
    ForPeople().restarting(error, 0.5)
    assert capsys.readouterr().err.splitlines() == [
        f"{error.what}. Restarting from the newest checkpoint in 0.5 s …"
    ]


def test_a_program_gets_one_document_per_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(voice, "EVERY", 0.0)
    told = ForPrograms()
    told.listening(Address("http://127.0.0.1:8081", "x", "y", "/tmp/y"))
    with EndOffsets(unreachable) as ends, told.progress(ends) as look:
        look(PROGRESS)
    told.restarting(MilepostError("It failed", why="of this"), 0.5)
    told.ended("orders", JobStatus.FAILED, PROGRESS)
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["event"] for each in documents] == ["listening", "progress", "restarting", "ended"]
    assert (documents[1]["rows"], documents[1]["checkpoint"], documents[1]["lag"]) == (1_500, 7, None)
    assert (documents[3]["state"], documents[3]["rejected"]) == ("FAILED", {"undecodable": 2})


def test_progress_comes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Progress] = []
    look = now_and_then(seen.append)
    look(PROGRESS)
    assert seen == []
    monkeypatch.setattr(voice, "EVERY", 0.0)
    look(PROGRESS)
    assert seen == [PROGRESS]
