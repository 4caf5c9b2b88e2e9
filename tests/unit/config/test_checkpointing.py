"""Checkpointing: every key, its defaults, and what does not fit together (B28)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from milepost.config import Checkpointing
from milepost.errors import ConfigError

C = "checkpointing/"

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({C + "dir": ""}, "dir", "must not be empty"),
    (
        {C + "dir": "~no-such-user/data"},
        "dir",
        "'~no-such-user/data' names a home directory that does not exist",
    ),
    ({C + "dir": "file://data/orders"}, "dir", "three slashes"),
    ({C + "dir": "file:data"}, "dir", "neither a path nor a URI"),
    ({C + "dir": "C:\\data"}, "dir", "neither a path nor a URI"),
    ({C + "dir": "https://host/data"}, "dir", "https cannot be written to"),
    ({C + "interval": 10}, "interval", "10 has no unit"),
    ({C + "interval": "-5s"}, "interval", "must not be negative"),
    ({C + "interval": None}, "interval", "must be a duration"),
    ({C + "timeout": 0}, "timeout", "greater than zero"),
    ({C + "timeout": "5s"}, "timeout", "is 5s, shorter than interval (10s)"),
    ({C + "min-pause": "1m"}, "min-pause", "is 1m, longer than interval (10s)"),
    ({C + "mode": "exactly_once"}, "mode", "did you mean exactly-once?"),
    ({C + "execution": "realtime"}, "execution", "did you mean real-time?"),
    ({C + "execution": "real-time", C + "interval": 0}, "interval", "greater than zero in real-time"),
    ({C + "max-concurrent": 2}, "max-concurrent", "Spark runs one batch at a time"),
    ({C + "max-concurrent": 0}, "max-concurrent", "must be 1"),
    ({C + "tolerable-failures": -1}, "tolerable-failures", "must be at least 0"),
    ({C + "tolerable-failures": "3.5"}, "tolerable-failures", "must be a whole number"),
    ({C + "retained": 0}, "retained", "must be at least 1"),
    ({C + "retained": "many"}, "retained", "must be a whole number"),
    ({C + "on-cancel": "deleted"}, "on-cancel", "did you mean delete?"),
    ({C + "on-damage": "fallback"}, "on-damage", "did you mean fall-back?"),
    ({C + "state-backend": "rocks"}, "state-backend", "did you mean rocksdb?"),
    ({C + "intervall": "5s"}, "intervall", "did you mean interval?"),
]


@pytest.mark.parametrize(("changes", "path", "sentence"), REFUSED)
def test_refused(faults, changes: dict[str, Any], path: str, sentence: str):
    found = faults(changes)
    assert list(found) == [f"checkpointing.{path}"]
    assert sentence in found[f"checkpointing.{path}"]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("/data/a b", "/data/a b"),
        ("/data/a/", "/data/a"),
        ("file:///data/a", "file:///data/a"),
        ("file:/data/a", "file:/data/a"),
        ("hdfs://nn:8020/data", "hdfs://nn:8020/data"),
        ("s3a://bucket/x/", "s3a://bucket/x"),
        ("/data/a:b", "/data/a:b"),
    ],
)
def test_directory(written: str, kept: str):
    assert Checkpointing(dir=written).dir == kept


def test_defaults():
    checkpointing = Checkpointing(dir="/data")
    assert (checkpointing.interval, checkpointing.timeout) == (timedelta(seconds=10), timedelta(minutes=10))
    assert (checkpointing.mode, checkpointing.execution) == ("exactly-once", "micro-batch")
    assert (checkpointing.min_pause, checkpointing.max_concurrent, checkpointing.tolerable_failures) == (
        timedelta(0),
        1,
        0,
    )
    assert (checkpointing.retained, checkpointing.on_cancel, checkpointing.state_backend) == (
        10,
        "retain",
        "rocksdb",
    )
    assert checkpointing.on_damage == "fail"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mode", "at-least-once"),
        ("tolerable-failures", 3),
        ("on-cancel", "delete"),
        ("on-damage", "fall-back"),
        ("state-backend", "memory"),
        ("state-backend", "filesystem"),
    ],
)
def test_accepted(faults, key: str, value: Any):
    assert faults({C + key: value}) == {}


def test_timeout_nobody_gave_grows_with_the_interval():
    assert Checkpointing(dir="/data", interval="1h").timeout == timedelta(hours=1)


def test_interval_zero_runs_freely():
    assert Checkpointing(dir="/data", interval=0).interval == timedelta(0)


def test_python_takes_durations_and_says_every_fault():
    assert Checkpointing(dir="/data", interval=timedelta(seconds=5)).interval == timedelta(seconds=5)
    with pytest.raises(ConfigError) as caught:
        Checkpointing(dir="/data", interval="10s", timeout="5s", min_pause="20s")
    assert [f.path for f in caught.value.faults] == ["timeout", "min-pause"]


def test_scheduled_savepoints_need_a_place(faults):
    found = faults({C + "savepoints": {"interval": "6h"}})
    assert list(found) == ["checkpointing.savepoints"]
    assert "requires savepoint-dir" in found["checkpointing.savepoints"]
    kept = Checkpointing(
        dir="/data", savepoint_dir="/savepoints", savepoints={"interval": "6h", "max-age": "7d"}
    )
    assert kept.savepoints.max_count == 10
