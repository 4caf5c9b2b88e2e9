"""A savepoint installed into a checkpoint directory, and a death at each step of it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest
from tests.unit.checkpoint.savepoint.test_write import Mortal, savepoint
from tests.unit.checkpoint.spark_directory import PowerCut, SparkDirectory

from milepost.checkpoint.recovery.preflight import check_directory, find_damage
from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.copy import checksum
from milepost.checkpoint.savepoint.manifest import SavedFile, Savepoint
from milepost.checkpoint.savepoint.restore import install, set_progress_aside, verify
from milepost.checkpoint.savepoint.write import finish, pin
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import PreflightError

SKIPPED = {names.JOB, names.PLAN, names.VERSIONS}


@pytest.fixture
def taken(filled: SparkDirectory, tmp_path: Path) -> Savepoint:
    """A savepoint of checkpoint 3."""
    target = LocalStore(tmp_path / "savepoints")
    return finish(pin(filled.store, target, savepoint(target)))


@pytest.fixture(params=["local", "memory"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "local":
        yield LocalStore(tmp_path / "restored")
        return
    root = f"/{uuid.uuid4().hex}"
    yield Store.at(f"memory:/{root}")
    with suppress(FileNotFoundError):
        fsspec.filesystem("memory").rm(root, recursive=True)


def progress(store: Store) -> None:
    """Write the progress of a job that has come further."""
    store.replace(names.METADATA, b'{"id":"1"}')
    store.replace(f"{names.OFFSETS}/9", b"further")
    store.replace(f"{names.STATE}/0/0/10.delta", b"state")


def is_restored(store: Store, saved: Savepoint) -> bool:
    wanted = saved.files.keys() - SKIPPED
    return all(checksum(store, name) == saved.files[name] for name in wanted)


def kept(store: Store) -> set[str]:
    """Return what was set aside, by its own names."""
    return {name.split("/", 3)[3] for name in store.walk(names.DISCARDED) if "discarded.json" not in name}


PROGRESS = {names.METADATA, f"{names.OFFSETS}/9", f"{names.STATE}/0/0/10.delta"}


def test_the_directory_is_as_it_was_at_the_checkpoint_and_what_was_there_is_set_aside(
    taken: Savepoint, target: Store
):
    progress(target)
    verify(taken)
    install(taken, target, "file:/restored")
    assert is_restored(target, taken)
    assert kept(target) == PROGRESS
    newest = newest_completed(target)
    assert newest is not None
    assert newest.batch_id == 3
    assert find_damage(target, job_name="orders") == []
    assert is_whole(taken)


def is_whole(taken: Savepoint) -> bool:
    return verify(catalog.load(taken.path)) is not None


def test_a_death_at_any_step_leaves_what_never_starts_and_is_restored_again(taken: Savepoint, target: Store):
    for acts in range(1000):
        target.delete_folder("milepost")
        for name in (names.OFFSETS, names.COMMITS, names.STATE, names.SOURCES):
            target.delete_folder(name)
        target.delete(names.METADATA)
        progress(target)
        with pytest.MonkeyPatch.context() as patch:
            Mortal(patch, acts)
            try:
                install(taken, target, "file:/restored")
                died = False
            except PowerCut:
                died = True
        if died and acts > 0:
            with pytest.raises(PreflightError, match=f"--from-savepoint {taken.path}"):
                check_directory(target, job_name="orders")
        if died:
            install(taken, target, "file:/restored")
        check_directory(target, job_name="orders")
        assert is_restored(target, taken)
        assert PROGRESS <= kept(target), f"what the directory held is lost after a death at act {acts}"
        assert is_whole(taken)
        if not died:
            break
    assert acts > len(taken.files)


def test_a_fresh_start_on_a_half_restored_directory_keeps_what_was_set_aside(taken: Savepoint, target: Store):
    progress(target)
    with pytest.MonkeyPatch.context() as patch:
        Mortal(patch, 12)
        with suppress(PowerCut):
            install(taken, target, "file:/restored")
    set_progress_aside(target)
    check_directory(target, job_name="orders")
    assert newest_completed(target) is None
    assert kept(target) == PROGRESS


def test_paths_of_schemas_are_those_of_the_new_directory(filled: SparkDirectory, tmp_path: Path):
    schema = "state/3/_stateSchema/default/0_ab"
    operator = {"stateStoreInfo": [{"stateSchemaFilePaths": [f"file:/old/place/{schema}"]}]}
    filled.write("state/3/_metadata/v2/0", "v2\n" + json.dumps(operator))
    filled.write(schema, "v3")
    target, restored = LocalStore(tmp_path / "savepoints"), LocalStore(tmp_path / "restored")
    install(finish(pin(filled.store, target, savepoint(target))), restored, "file:/new")
    _, text = restored.read("state/3/_metadata/v2/0").decode().split("\n")
    assert json.loads(text)["stateStoreInfo"][0]["stateSchemaFilePaths"] == [f"file:/new/{schema}"]


# ---- what is refused before anything is touched ----


def lost(taken: Savepoint) -> None:
    Path(taken.path, "commits/3").unlink()


def longer(taken: Savepoint) -> None:
    with Path(taken.path, "offsets/3").open("ab") as file:
        file.write(b" ")


def other(taken: Savepoint) -> None:
    path = Path(taken.path, "offsets/3")
    path.write_bytes(path.read_bytes()[:-1] + b"!")


def linked(taken: Savepoint) -> None:
    path = Path(taken.path, "offsets/3")
    path.rename(Path(taken.path).parent / "outside")
    path.symlink_to(Path(taken.path).parent / "outside")


def linked_folder(taken: Savepoint) -> None:
    Path(taken.path, "offsets").rename(Path(taken.path).parent / "outside")
    Path(taken.path, "offsets").symlink_to(Path(taken.path).parent / "outside")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lost, "it is missing"),
        (longer, "bytes, and _metadata says"),
        (other, "its checksum is not the one in _metadata"),
        (linked, "it is a link to somewhere else"),
        (linked_folder, "it is a link to somewhere else"),
    ],
)
def test_a_savepoint_that_is_not_as_it_was_written_is_refused(taken: Savepoint, damage, why: str):
    damage(taken)
    with pytest.raises(PreflightError) as refused:
        verify(taken)
    assert why in refused.value.why


def test_a_file_that_is_too_large_is_refused_without_reading_it(taken: Savepoint):
    with Path(taken.path, "offsets/3").open("ab") as file:
        file.truncate(10 << 30)
    with pytest.raises(PreflightError, match="is not the file of the savepoint"):
        verify(taken)


def test_a_savepoint_without_its_checkpoint_is_refused(taken: Savepoint):
    files = {name: saved for name, saved in taken.files.items() if name != "commits/3"}
    with pytest.raises(PreflightError, match="has no commits/3"):
        verify(replace(taken, files=files))


def test_a_file_of_an_outside_place_is_never_read(taken: Savepoint, tmp_path: Path):
    files = {**taken.files, "../outside": SavedFile(1, "a" * 64)}
    with pytest.raises(ValueError, match="leads out"):
        verify(replace(taken, files=files))
