"""A savepoint written in two phases, and a death at each step of them."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fsspec
import pytest
from tests.unit.checkpoint.savepoint.conftest import STATE_OF_3, fill
from tests.unit.checkpoint.spark_directory import PowerCut, SparkDirectory

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.savepoint import catalog, write
from milepost.checkpoint.savepoint.copy import checksum
from milepost.checkpoint.savepoint.manifest import Savepoint, SavepointTrigger
from milepost.checkpoint.savepoint.write import finish, pin, sweep
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import SavepointError

KEPT = {names.JOB, names.TOPICS}


def savepoint(target: Store, unique: str = "0a1b2c3d4e5f") -> Savepoint:
    name = f"savepoint-6b1e2f-{unique}"
    return Savepoint(
        path=target.address(name),
        name=name,
        checkpoint_id=CheckpointId(3),
        trigger=SavepointTrigger.MANUAL,
        taken_at=datetime(2026, 11, 15, tzinfo=timezone.utc),
        job_name="orders",
        job_id="6b1e2f000000",
        directory="/data/orders",
        written_by="milepost 0.1.0",
        outline={"sink": {"console": {}}},
    )


@pytest.fixture(params=["local", "memory"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "local":
        yield LocalStore(tmp_path / "savepoints")
        return
    root = f"/{uuid.uuid4().hex}"
    yield Store.at(f"memory:/{root}")
    with suppress(FileNotFoundError):
        fsspec.filesystem("memory").rm(root, recursive=True)


def is_whole(store: Store, found: Savepoint) -> bool:
    return all(checksum(store, f"{found.name}/{name}") == saved for name, saved in found.files.items())


def test_it_holds_what_the_checkpoint_needs_and_its_manifest_sums_all_of_it(
    filled: SparkDirectory, target: Store
):
    made = finish(pin(filled.store, target, savepoint(target)))
    assert STATE_OF_3 | KEPT < made.files.keys()
    (found,) = catalog.load_all(target.address(""))
    assert found == made
    assert is_whole(target, found)
    assert filled.store.entries(names.PINNED) == []


def test_on_one_file_system_nothing_is_copied(filled: SparkDirectory, tmp_path: Path):
    target = LocalStore(tmp_path / "savepoints")
    made = finish(pin(filled.store, target, savepoint(target)))
    linked = [name for name in made.files if name.startswith(("state/", "offsets/"))]
    for name in linked:
        assert target.path(f"{made.name}/{name}").samefile(filled.root / name)


def test_what_goes_after_the_first_phase_is_still_in_the_savepoint(filled: SparkDirectory, target: Store):
    draft = pin(filled.store, target, savepoint(target))
    filled.store.delete_folder(names.STATE)
    filled.store.delete_folder(names.OFFSETS)
    assert is_whole(target, finish(draft))


def test_on_another_file_system_files_are_held_beside_the_checkpoint(
    filled: SparkDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    target, link = LocalStore(tmp_path / "savepoints"), os.link

    def other_device(source: Path, to: Path) -> None:
        if "savepoints" in str(to) and names.PINNED not in str(to) and "_" not in Path(to).name:
            raise OSError(errno.EXDEV, "another device")
        link(source, to)

    monkeypatch.setattr(os, "link", other_device)
    draft = pin(filled.store, target, savepoint(target))
    assert draft.held.startswith(names.PINNED)
    filled.store.delete_folder(names.STATE)
    assert is_whole(target, finish(draft))
    assert not filled.store.exists(draft.held)


def test_where_nothing_can_be_held_what_is_gone_fails_the_savepoint(target: Store):
    root = f"memory://{uuid.uuid4().hex}"
    source = Store.at(root)
    for name, data in {"offsets/3": b"v1", "commits/3": b"v1", "metadata": b"{}"}.items():
        source.replace(name, data)
    draft = pin(source, target, savepoint(target))
    source.delete("offsets/3")
    with pytest.raises(SavepointError, match="offsets/3 was removed"):
        finish(draft)


def test_state_that_spark_is_just_replacing_is_looked_at_again(filled: SparkDirectory, tmp_path: Path):
    target = LocalStore(tmp_path / "savepoints")

    class Purging(LocalStore):
        looks = 0

        def link(self, name: str, target: LocalStore, to: str) -> None:
            if name.endswith("3.changelog") and not Purging.looks:
                Purging.looks += 1
                # Maintenance uploads version 4 and removes what only older ones needed.
                filled.write("state/0/0/4.zip", (filled.root / "state/0/0/2.zip").read_bytes())
                (filled.root / "state/0/0/3.changelog").unlink()
            super().link(name, target, to)

    made = finish(pin(Purging(filled.root), target, savepoint(target)))
    assert "state/0/0/4.zip" in made.files
    assert "state/0/0/3.changelog" not in made.files


def test_state_that_is_not_whole_fails_the_savepoint_and_leaves_nothing(
    filled: SparkDirectory, target: Store
):
    (filled.root / "state/0/0/3.changelog").unlink()
    with pytest.raises(SavepointError, match="before the savepoint could pin it"):
        pin(filled.store, target, savepoint(target))
    assert target.entries("") == []


# ---- a death at each step ----


class Mortal:
    """Lets the n-th act on the file system raise instead; what was done before stays done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, acts: int) -> None:
        self.left = acts
        for kind in (LocalStore, type(Store.at("memory://mortal"))):
            for method in ("create", "replace", "delete", "delete_folder", "move", "writing", "link", "sync"):
                if hasattr(kind, method):
                    monkeypatch.setattr(kind, method, self.counted(getattr(kind, method)))
        # The process is dead: nobody cleans up.
        monkeypatch.setattr(write, "drop", lambda _draft: None)

    def counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def act(*arguments: Any) -> Any:
            if self.left == 0:
                raise PowerCut
            self.left -= 1
            return method(*arguments)

        return act


def test_a_death_at_any_file_leaves_no_half_savepoint(filled: SparkDirectory, target: Store):
    for acts in range(1000):
        with pytest.MonkeyPatch.context() as patch:
            Mortal(patch, acts)
            try:
                finish(pin(filled.store, target, savepoint(target, f"{acts:012x}")))
                died = False
            except PowerCut:
                died = True
        for found in catalog.load_all(target.address("")):
            assert is_whole(target, found)
        sweep(filled.store, target)
        left = [entry.name for entry in target.entries("")]
        assert left == [found.name for found in catalog.load_all(target.address(""))]
        assert not any(target.exists(f"{name}/_inprogress") for name in left)
        assert not filled.store.exists(names.PINNED)
        for name in left:
            target.delete_folder(name)
        if not died:
            break
    assert acts > len(STATE_OF_3)


def test_what_another_job_has_begun_is_not_swept(filled: SparkDirectory, target: Store, tmp_path: Path):
    other = fill(SparkDirectory(tmp_path / "other"))
    draft = pin(other.store, target, savepoint(target))
    assert sweep(filled.store, target) == []
    assert is_whole(target, finish(draft))


def test_a_disposed_savepoint_is_gone(filled: SparkDirectory, target: Store):
    made = finish(pin(filled.store, target, replace(savepoint(target), directory=filled.store.address(""))))
    catalog.dispose(target.address(made.name))
    assert catalog.load_all(target.address("")) == []
    assert not target.exists(made.name)
