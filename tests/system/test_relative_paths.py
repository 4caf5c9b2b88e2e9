"""A pipeline file with relative paths means the same from every working directory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.system.drivers import Driver, write_pipeline
from tests.system.lab import Lab, numbered


@pytest.mark.timeout(300)
def test_relative_directories_lie_beside_the_file(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = lab.document(
        lab.topic(*numbered(10)),
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT"},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={"dir": "data/checkpoint", "savepoint-dir": "data/savepoints"},
    )
    document |= {"rest": {"bind": "127.0.0.1:0"}, "spark": {"master": "local[2]"}}
    folder = lab.folder("relative")
    file = write_pipeline(folder, document)
    monkeypatch.chdir(tmp_path)
    with Driver(file) as driver:
        assert driver.end() == 0, driver.output

    assert (folder / "data" / "checkpoint" / "commits").is_dir()
    assert list(tmp_path.iterdir()) == []
    (listed,) = json.loads(milepost("checkpoint", "list", str(file), "--json"))["checkpoints"][:1]
    assert listed["id"] >= 0
    assert json.loads(milepost("savepoint", "list", str(file), "--json")) == []
    positions = json.loads(milepost("offsets", str(file), "--json"))["partitions"]
    assert [each["checkpoint"] for each in positions] == [10]
    assert "VERIFIED records=10 missing=0" in milepost("verify", str(file))


def milepost(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "milepost", *words], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
