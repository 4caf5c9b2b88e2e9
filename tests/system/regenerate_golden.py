"""Writes the golden savepoints anew: `make golden`, when what a savepoint holds has changed. No test by itself."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from tests.system import golden
from tests.system.lab import Lab, wait_until


@pytest.mark.parametrize("kind", golden.KINDS)
def test_write(lab: Lab, kind: str):
    # In a place that is the same on every machine: a savepoint says where it was taken.
    root = Path(tempfile.gettempdir()) / "milepost-golden"
    shutil.rmtree(root, ignore_errors=True)
    try:
        lab.create_topic(golden.topic_of(kind))
        lab.produce(golden.topic_of(kind), *golden.records(0, 12))
        lab.hbase.create_table(golden.topic_of(kind), "d")
        config = golden.config(lab, kind, root)
        with lab.running(config, participants=golden.participants(kind)) as running:
            wait_until(lambda: running.job.progress().rows > 0, "rows are written")
            savepoint = running.pipeline.savepoint(timeout=60)
        shutil.rmtree(golden.FOLDER / kind, ignore_errors=True)
        shutil.copytree(savepoint.path, golden.FOLDER / kind)
    finally:
        shutil.rmtree(root, ignore_errors=True)
