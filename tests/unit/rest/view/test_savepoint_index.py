"""Savepoints are known by the names of their folders, and looked at now and then."""

from __future__ import annotations

from pathlib import Path

from tests.unit.rest.view.stock import saved

from milepost.rest.view.savepoint_index import SavepointIndex


def test_without_a_directory_there_are_none():
    assert SavepointIndex(None).savepoints() == {}


def test_a_savepoint_is_found_by_the_name_of_its_folder(tmp_path: Path):
    now = [0.0]
    shelf = SavepointIndex(str(tmp_path / "savepoints"), lambda: now[0])
    assert shelf.savepoints() == {}
    taken = saved(tmp_path / "job", tmp_path / "savepoints")
    assert shelf.savepoints() == {}
    now[0] = 2.0
    assert list(shelf.savepoints()) == [taken.name]
    found = shelf.find(taken.name)
    assert found is not None
    assert found.checkpoint_id == taken.checkpoint_id
    assert shelf.find("../job") is None


def test_a_link_that_leads_out_is_none(tmp_path: Path):
    taken = saved(tmp_path / "job", tmp_path / "elsewhere")
    (tmp_path / "savepoints").mkdir()
    (tmp_path / "savepoints" / "linked").symlink_to(tmp_path / "elsewhere" / taken.name)
    assert SavepointIndex(str(tmp_path / "savepoints")).savepoints() == {}


def test_a_savepoint_in_a_folder_of_the_directory_is_found(tmp_path: Path):
    taken = saved(tmp_path / "job", tmp_path / "savepoints" / "release-42")
    found = SavepointIndex(str(tmp_path / "savepoints")).find(taken.name)
    assert found is not None
    assert found.path == taken.path
