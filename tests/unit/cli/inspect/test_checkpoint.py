"""`milepost checkpoint`: what a person and a program see, and how long ten thousand checkpoints take."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.inspect.left_behind import LeftBehind, completed, failed
from typer.testing import CliRunner

from milepost.cli import app
from milepost.errors import NotReachableError

# Of a busy machine; alone it takes a fifth of it.
CPU_SECONDS = 1.0
HEAVY = ("pyspark", "py4j", "milepost.config", "confluent_kafka", "fsspec")


@pytest.fixture
def left(tmp_path: Path) -> LeftBehind:
    return LeftBehind(tmp_path / "orders")


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["checkpoint", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_list_fits_a_terminal_and_says_why_one_failed(left: LeftBehind) -> None:
    left.take(*(completed(n) for n in range(3)), failed(3), retained=2)
    said = run("list", left.root)
    assert all(len(line) <= 80 and line.isascii() for line in said.splitlines())
    assert said.splitlines()[:2] == [
        "id  status     trigger    triggered (UTC)        took  rows  bytes  acks  state",
        " 3  FAILED     on demand  2026-11-15 12:00:35   1.0 s     -      -   1/2      -",
    ]
    assert "3 FAILED: CHECKPOINT_DECLINED: 'audit' raised" in said
    assert said.splitlines()[-1] == "2 stored; 4 shown. DISCARDED: completed, no longer stored."


def test_the_list_as_json(left: LeftBehind) -> None:
    left.take(completed(0), completed(1))
    document = json.loads(run("list", left.root, "--json", "--limit", "1"))
    assert (document["stored"], document["cut"]) == (2, True)
    (entry,) = document["checkpoints"]
    assert (entry["id"], entry["status"], entry["rows"], entry["duration-ms"]) == (1, "COMPLETED", 19, 210)


def test_nothing_yet_is_said(left: LeftBehind) -> None:
    assert run("list", left.root) == "No checkpoint has been taken yet.\n"


def test_a_directory_of_plain_spark_is_said_to_be_one(left: LeftBehind) -> None:
    (left.root / "commits").mkdir()
    (left.root / "commits" / "12").write_text("v1\n{}")
    assert run("list", left.root).startswith("Only plain Spark has run here, up to batch 12;")


def test_one_checkpoint_is_shown_the_newest_where_none_is_named(left: LeftBehind) -> None:
    left.take(completed(0), completed(1))
    assert run("show", left.root).startswith("Checkpoint 1\n")
    assert json.loads(run("show", left.root, 0, "--json"))["id"] == 0


def test_a_checkpoint_is_compared_with_a_savepoint(left: LeftBehind, tmp_path: Path) -> None:
    left.take(completed(0), completed(1))
    kept = LeftBehind(tmp_path / "savepoint-6b1e").take(completed(1))
    (kept.root / "_metadata").write_text("{}")
    document = json.loads(run("diff", left.root, 0, kept.root, "--json"))
    assert (document["from"], document["to"], document["checkpoints"]) == (0, 1, 1)


def test_what_is_not_there_ends_with_3(left: LeftBehind) -> None:
    left.take(completed(0))
    refused = CliRunner().invoke(app, ["checkpoint", "show", str(left.root), "5"])
    assert isinstance(refused.exception, NotReachableError)
    assert refused.exception.exit_code == 3


def test_a_terminal_without_unicode_gets_escapes(left: LeftBehind) -> None:
    left.take(completed(0, states={"zähler": {"gruß": "日本"}}))
    said = subprocess.run(
        [sys.executable, "-m", "milepost", "checkpoint", "show", str(left.root), "--values"],
        capture_output=True,
        check=True,
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict"},
    )
    assert rb'z\xe4hler = {"gru\xdf": "\u65e5\u672c"}' in said.stdout


def test_ten_thousand_checkpoints_are_listed_in_a_second_without_spark(left: LeftBehind) -> None:
    left.take_many(10_000)
    code = (
        "import sys\nfrom milepost.cli import app\n"
        "try:\n    app()\nfinally:\n"
        f"    print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", code, "checkpoint", "list", str(left.root)]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert said.stderr.strip() == "[]"
    assert said.stdout.splitlines()[-1] == "10,000 stored; 50 shown. --limit 0 shows all."
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < CPU_SECONDS
