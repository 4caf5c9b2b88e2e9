"""`milepost verify`: what cannot be proved is refused before Spark starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from milepost.cli import app
from milepost.errors import MilepostError
from milepost.verify import At, Report


def pipeline(folder: Path, **sections: Any) -> str:
    kafka = {"bootstrap-servers": "h:1", "topics": ["t"], "format": "json", "schema": "id STRING, a INT"}
    hbase = {"quorum": "h:2", "table": "t", "row-key": ["id"], "columns": {"d": ["a"]}}
    document = {
        "name": "n",
        "source": {"kafka": kafka},
        "sink": {"hbase": hbase},
        "checkpointing": {"dir": str(folder / "checkpoint")},
    }
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(document | sections))
    return str(file)


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> None:
        pytest.fail("Spark was started")

    monkeypatch.setattr("milepost.job.spark.session.session", start)


def refused(*words: str) -> MilepostError:
    error = CliRunner().invoke(app, ["verify", *words]).exception
    assert isinstance(error, MilepostError), error
    return error


def test_a_transform_is_refused(tmp_path: Path) -> None:
    error = refused(pipeline(tmp_path, transform={"sql": "SELECT * FROM source"}))
    assert (error.exit_code, "it has a transform" in str(error)) == (2, True)


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    error = refused(pipeline(tmp_path))
    assert (error.exit_code, str(tmp_path / "checkpoint") in str(error)) == (3, True)


def test_the_end_of_the_log_needs_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def compared(_: object, at: At, __: list[str]) -> Report:
        asked.append(at)
        return Report(records=9)

    monkeypatch.setattr("milepost.cli.inspect.verify._compare", compared)
    result = CliRunner().invoke(app, ["verify", pipeline(tmp_path), "--at", "end"])
    assert result.stdout.splitlines() == ["VERIFIED records=9 missing=0 extra=0 stale=0 duplicates=0"]
    assert asked == ["end"]
