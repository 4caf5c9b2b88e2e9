"""The text and JSON output of a job in the foreground."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from milepost.cli.output.console import out
from milepost.cli.run import run_output
from milepost.cli.run.run_output import (
    JsonOutput,
    TextOutput,
    progress_line,
    throttle,
)
from milepost.errors import MilepostError, NotReachableError, StorageError
from milepost.job.monitoring.end_offsets import EndOffsets
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.server.server import Address

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

GENERATED = Address(
    url="http://127.0.0.1:8081",
    token="the-admin-token",
    read_token="the-reading-token",
    token_file="/tmp/m/1.token",
    read_token_file="/tmp/m/1.read-token",
)
CONFIGURED = replace(GENERATED, token_origin="configured")


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def unreachable() -> dict[str, dict[int, int]]:
    raise OSError


def test_the_line_of_a_person() -> None:
    assert progress_line(PROGRESS, 99.6, {"orders": {0: 50}}) == (
        "1,500 rows · 100 rows/s · lag 10 · checkpoint 7 · acks 1/4 · rejected 2"
    )
    assert "lag unknown" in progress_line(PROGRESS, 0, None)


def test_the_end_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    TextOutput().show_end("orders", JobStatus.FINISHED, PROGRESS)
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
    TextOutput().show_restart(error, 0.5)
    assert capsys.readouterr().err.splitlines() == [
        f"{error.what}. Restarting from the newest checkpoint in 0.5 s …"
    ]


def test_a_program_gets_one_document_per_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_output, "PROGRESS_INTERVAL_S", 0.0)
    output = JsonOutput()
    output.show_address(GENERATED)
    with EndOffsets(unreachable) as ends, output.progress(ends) as look:
        look(PROGRESS)
    output.show_restart(MilepostError("It failed", why="of this"), 0.5)
    output.show_end("orders", JobStatus.FAILED, PROGRESS)
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["event"] for each in documents] == ["listening", "progress", "restarting", "ended"]
    assert (documents[1]["rows"], documents[1]["checkpoint"], documents[1]["lag"]) == (1_500, 7, None)
    assert (documents[3]["state"], documents[3]["rejected"]) == ("FAILED", {"undecodable": 2})


def test_a_generated_token_is_printed_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(out, "_file", terminal)
    TextOutput().show_address(GENERATED)
    assert terminal.getvalue().splitlines() == [
        "REST interface: http://127.0.0.1:8081/?token=the-admin-token",
        "Read-only token: in /tmp/m/1.read-token",
    ]


@pytest.mark.parametrize("color", ["", "1"])
def test_a_log_gets_the_file_of_a_generated_token(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, color: str
) -> None:
    # Rich takes every stream for a terminal where this is set.
    monkeypatch.setenv("FORCE_COLOR", color)
    TextOutput().show_address(GENERATED)
    assert capsys.readouterr().out.splitlines() == [
        "REST interface: http://127.0.0.1:8081",
        "Token: in /tmp/m/1.token",
        "Read-only token: in /tmp/m/1.read-token",
    ]


def test_a_configured_token_is_printed_nowhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    TextOutput().show_address(CONFIGURED)
    JsonOutput().show_address(CONFIGURED)
    terminal = Terminal()
    monkeypatch.setattr(out, "_file", terminal)
    TextOutput().show_address(CONFIGURED)
    printed = capsys.readouterr().out + terminal.getvalue()
    assert "the-admin-token" not in printed
    assert printed.count("Token: as configured in rest.token") == 2


def test_a_program_gets_the_files_of_the_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    JsonOutput().show_address(GENERATED)
    assert json.loads(capsys.readouterr().out) == {
        "event": "listening",
        "address": "http://127.0.0.1:8081",
        "token-file": "/tmp/m/1.token",
        "read-token-file": "/tmp/m/1.read-token",
    }


def test_progress_comes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Progress] = []
    look = throttle(seen.append)
    look(PROGRESS)
    assert seen == []
    monkeypatch.setattr(run_output, "PROGRESS_INTERVAL_S", 0.0)
    look(PROGRESS)
    assert seen == [PROGRESS]
