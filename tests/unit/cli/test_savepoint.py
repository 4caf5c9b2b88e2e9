"""`milepost savepoint` on directories."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.unit.checkpoint.savepoint.conftest import fill
from tests.unit.checkpoint.savepoint.test_write import savepoint
from tests.unit.checkpoint.spark_directory import SparkDirectory
from typer.testing import CliRunner

from milepost.checkpoint.savepoint.write import finish, pin
from milepost.checkpoint.store.store import LocalStore
from milepost.cli.savepoint import app


def taken(tmp_path: Path) -> str:
    target = LocalStore(tmp_path / "savepoints")
    return finish(pin(fill(SparkDirectory(tmp_path / "job")).store, target, savepoint(target))).path


def test_only_reading_files_starts_no_spark():
    code = (
        "import sys, milepost.cli.savepoint; sys.exit('pyspark' in sys.modules or 'pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_list_show_and_dispose(tmp_path: Path):
    path, run = taken(tmp_path), CliRunner().invoke
    assert "savepoint-6b1e2f-0a1b2c3d4e5f" in run(app, ["list", str(tmp_path / "savepoints")]).output
    (found,) = json.loads(run(app, ["list", str(tmp_path / "savepoints"), "--json"]).output)
    assert (found["path"], found["checkpoint"], found["job"]) == (path, 3, "orders")
    shown = json.loads(run(app, ["show", path, "--json"]).output)
    assert shown["files"]["offsets/3"]["size"] > 0
    assert "checkpoint  3" in run(app, ["show", path]).output
    assert "is disposed" in run(app, ["dispose", path]).output
    assert json.loads(run(app, ["list", str(tmp_path / "savepoints"), "--json"]).output) == []
