"""A savepoint on disk, as a job would have left it."""

from __future__ import annotations

from pathlib import Path

from tests.unit.checkpoint.savepoint.conftest import fill
from tests.unit.checkpoint.savepoint.test_write import savepoint
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.savepoint.write import finish, pin
from milepost.checkpoint.store.store import LocalStore


def saved(job: Path, savepoints: Path) -> Savepoint:
    target = LocalStore(savepoints)
    return finish(pin(fill(SparkDirectory(job)).store, target, savepoint(target)))
