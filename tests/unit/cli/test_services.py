from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from typer.testing import CliRunner

from milepost.cli.services import DEFAULT_DIR, app, status_document, status_table, up_text
from milepost.services import Endpoints, ServiceStatus, State

KAFKA = ServiceStatus(
    name="kafka",
    state=State.RUNNING,
    pid=4711,
    address="127.0.0.1:9092",
    log=Path("/d/kafka/log/kafka.log"),
    uptime=timedelta(hours=1, seconds=1.7),
)
HBASE = ServiceStatus(
    name="hbase", state=State.STALE, pid=None, address="", log=Path("/d/hbase/log/hbase.log"), uptime=None
)


def test_status_table_is_aligned():
    assert status_table([KAFKA, HBASE]).splitlines() == [
        "SERVICE  STATE    PID   ADDRESS         UPTIME   LOG",
        "kafka    running  4711  127.0.0.1:9092  1:00:01  /d/kafka/log/kafka.log",
        "hbase    stale    -     -               -        /d/hbase/log/hbase.log",
    ]


def test_status_document_has_no_invented_values():
    assert status_document(HBASE) == {
        "name": "hbase",
        "state": "stale",
        "pid": None,
        "address": None,
        "log": "/d/hbase/log/hbase.log",
        "uptime-seconds": None,
    }


def test_up_says_what_is_needed_next():
    text = up_text(Endpoints("127.0.0.1:9092", "127.0.0.1:2181"), [KAFKA, HBASE], Path("my dir"))
    assert text.splitlines() == [
        "bootstrap-servers:    127.0.0.1:9092",
        "quorum:               127.0.0.1:2181",
        "log of kafka:         /d/kafka/log/kafka.log",
        "log of hbase:         /d/hbase/log/hbase.log",
        "stop them with:       milepost services down --dir 'my dir'",
    ]
    assert up_text(Endpoints("a", "b"), [], DEFAULT_DIR).endswith("milepost services down")


def test_status_exits_3_when_nothing_runs(tmp_path: Path):
    result = CliRunner().invoke(app, ["status", "--dir", str(tmp_path), "--json"])
    assert result.exit_code == 3
    assert [each["state"] for each in json.loads(result.stdout)] == ["stopped", "stopped"]


def test_down_says_that_nothing_ran(tmp_path: Path):
    result = CliRunner().invoke(app, ["down", "--dir", str(tmp_path)])
    assert result.exit_code == 0
    assert result.stdout == f"Nothing was running in {tmp_path}.\n"
