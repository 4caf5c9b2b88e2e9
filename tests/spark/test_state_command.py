"""`milepost state` as it is typed, in a process of its own, on savepoints that an earlier run has written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"


def milepost(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "milepost", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("backend", ["rocksdb", "filesystem"])
def test_a_select_over_a_savepoint_answers(backend: str, tmp_path: Path):
    # A space in the path, and a copy: what reads must not write.
    place = tmp_path / "of a dead job" / backend
    shutil.copytree(GOLDEN / backend, place)
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    asked = milepost("state", str(place), "SELECT key.id, value.count FROM state_0 ORDER BY id", "--json")
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)["rows"] == [{"id": f"k{n}", "count": 4} for n in range(3)]
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before


def test_what_is_no_select_over_the_state_is_refused(tmp_path: Path):
    asked = milepost("state", str(GOLDEN / "rocksdb"), "SELECT * FROM text.`/etc/hostname`")
    assert asked.returncode == 2, asked.stdout
    assert "Traceback" not in asked.stderr
