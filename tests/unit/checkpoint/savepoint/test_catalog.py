"""The savepoints of a directory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.checkpoint.savepoint.test_write import savepoint
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import owned
from milepost.checkpoint.savepoint.write import finish, pin, sweep
from milepost.checkpoint.store.store import LocalStore
from milepost.errors import NotReachableError, PreflightError


def test_newest_first_and_only_what_is_whole(filled: SparkDirectory, tmp_path: Path):
    target = LocalStore(tmp_path / "savepoints")
    old, new = savepoint(target, "00000000000a"), savepoint(target, "00000000000b")
    for each in (replace(new, taken_at=new.taken_at + timedelta(hours=1)), old):
        finish(pin(filled.store, target, each))
    pin(filled.store, target, savepoint(target, "00000000000c"))
    (tmp_path / "savepoints" / "savepoint-6b1e2f-00000000000d").mkdir()
    (tmp_path / "savepoints" / "notes.txt").write_text("mine")
    damaged = tmp_path / "savepoints" / "savepoint-6b1e2f-00000000000e"
    damaged.mkdir()
    (damaged / "_metadata").write_text("{")
    assert [each.name[-1] for each in catalog.load_all(str(tmp_path / "savepoints"))] == ["b", "a"]


def test_a_directory_that_is_not_there_has_none(tmp_path: Path):
    assert catalog.load_all(str(tmp_path / "nowhere")) == []


def test_what_is_no_savepoint_is_not_opened_and_not_disposed(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("mine")
    for act in (catalog.load, catalog.dispose):
        with pytest.raises(NotReachableError, match="There is no savepoint at"):
            act(str(tmp_path))
    assert (tmp_path / "mine.txt").exists()


def test_a_savepoint_that_was_moved_is_where_it_is_now(filled: SparkDirectory, tmp_path: Path):
    target = LocalStore(tmp_path / "savepoints")
    made = finish(pin(filled.store, target, savepoint(target)))
    (tmp_path / "savepoints" / made.name).rename(tmp_path / "elsewhere")
    assert catalog.load(f"file://{tmp_path}/elsewhere").path == str(tmp_path / "elsewhere")


def test_a_savepoint_with_another_name_is_listed_and_never_swept(filled: SparkDirectory, tmp_path: Path):
    target = LocalStore(tmp_path / "savepoints")
    made = finish(pin(filled.store, target, savepoint(target)))
    renamed = (tmp_path / "savepoints" / made.name).rename(tmp_path / "savepoints" / "before-upgrade")
    (renamed / "_inprogress").write_bytes(owned(filled.store.address(""), "6b1e2f"))
    assert sweep(filled.store, target) == []
    assert [each.path for each in catalog.load_all(str(tmp_path / "savepoints"))] == [str(renamed)]


def test_a_manifest_that_is_too_large_is_not_read(tmp_path: Path):
    with (tmp_path / "_metadata").open("wb") as file:
        file.truncate(10 << 30)
    with pytest.raises(PreflightError, match="too large"):
        catalog.load(str(tmp_path))
