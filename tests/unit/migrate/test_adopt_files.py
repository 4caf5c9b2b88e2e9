"""A checkpoint is taken over whole, or no job starts on what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checkpoint.spark_directory import PowerCut, SparkDirectory

from milepost.checkpoint.recovery import marker
from milepost.checkpoint.recovery.preflight import check_directory
from milepost.checkpoint.store import identity
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.identity import JobIdentity
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.checkpoint.versions import versions
from milepost.errors import PreflightError
from milepost.migrate.adopt_files import (
    AdoptingJob,
    read_adopted_offsets,
    require_empty,
    take_over,
)
from milepost.migrate.plain_spark import inspect_checkpoint

VERSIONS = versions.above({"orders": versions.Topic("id-1", 2)}, 1, 5)
ADOPTING = AdoptingJob(
    job=JobIdentity(name="orders", job_id="j"),
    topic_ids={"orders": "id-1"},
    begins={"orders": {0: 20, 1: 19}},
    versions=VERSIONS,
    command="milepost adopt a.yaml --spark-checkpoint old",
)


@pytest.fixture
def old(spark: SparkDirectory) -> SparkDirectory:
    spark.batches(offsets=range(3), commits=range(2))
    spark.checksum("offsets/1")
    spark.write("state/0/1/2.delta", b"\1\2")
    spark.write("commits/.2.4711.tmp", "v1")
    spark.write("unrelated.txt", "mine")
    return spark


def content(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_everything_of_spark_arrives(old: SparkDirectory, store: Store):
    before = content(old.root)
    target = Store.at(str(old.root.with_name("new"))) if isinstance(store, LocalStore) else store
    count = take_over(old.store, inspect_checkpoint(old.store), target, ADOPTING)
    assert content(old.root) == before, "the old directory is only read"
    sparks = {name: data for name, data in before.items() if "tmp" not in name and name != "unrelated.txt"}
    assert count == len(sparks)
    assert {name: target.read(name) for name in sparks} == sparks
    assert not target.exists("unrelated.txt")
    assert not target.exists("commits/.2.4711.tmp")
    check_directory(target, job_name="orders")
    assert identity.recorded(target) == {"orders": "id-1"}
    assert versions.recorded(target) == VERSIONS
    assert read_adopted_offsets(target) == ADOPTING.begins


class Mortal(LocalStore):
    """Dies before its n-th write."""

    def __init__(self, root: Path, writes: int) -> None:
        super().__init__(root)
        self.writes = writes

    def replace(self, name: str, data: bytes) -> None:
        if self.writes == 0:
            raise PowerCut
        self.writes -= 1
        super().replace(name, data)

    def delete(self, name: str) -> None:
        if self.writes == 0 and name == names.UNFINISHED:
            raise PowerCut
        super().delete(name)


def test_a_kill_at_every_file_leaves_nothing_that_starts_and_can_be_done_again(
    old: SparkDirectory, tmp_path: Path
):
    found = inspect_checkpoint(old.store)
    writes = 0
    while True:
        root = tmp_path / f"new-{writes}"
        try:
            take_over(old.store, found, Mortal(root, writes), ADOPTING)
        except PowerCut:
            if writes:
                with pytest.raises(PreflightError, match="is incomplete"):
                    check_directory(LocalStore(root), job_name="orders")
            take_over(old.store, found, LocalStore(root), ADOPTING)
            check_directory(LocalStore(root), job_name="orders")
            assert not (root / names.UNFINISHED).exists()
            writes += 1
        else:
            break
    assert writes > 10


@pytest.mark.parametrize("name", ["offsets/0", "milepost/versions.json", "notes.txt"])
def test_a_directory_that_holds_something_is_refused(store: Store, name: str):
    store.replace(name, b"x")
    with pytest.raises(PreflightError, match="is not empty") as raised:
        require_empty(store)
    assert "checkpointing.dir" in raised.value.fix


def test_a_directory_in_the_middle_of_another_change_is_refused(store: Store):
    marker.begin(store, "milepost rollback a.yaml")
    with pytest.raises(PreflightError, match="milepost rollback"):
        require_empty(store)


def test_what_this_command_leaves_by_itself_is_nothing(store: Store):
    for name in (names.DRIVER_LOG, names.LEASE, f"{names.EPOCHS}/1"):
        store.replace(name, b"x")
    require_empty(store)


def test_a_query_that_still_runs_is_noticed_while_it_is_copied(old: SparkDirectory, tmp_path: Path):
    found = inspect_checkpoint(old.store)

    class Purged(LocalStore):
        def read(self, name: str) -> bytes:
            if name == "offsets/0":
                raise FileNotFoundError(name)
            return super().read(name)

    with pytest.raises(PreflightError, match="A query is still running"):
        take_over(Purged(old.root), found, LocalStore(tmp_path / "new"), ADOPTING)
    old.write("commits/2", 'v1\n{"nextBatchWatermarkMs":0}')
    with pytest.raises(PreflightError, match="A query is still running"):
        take_over(old.store, found, LocalStore(tmp_path / "new"), ADOPTING)
    with pytest.raises(PreflightError, match="is incomplete"):
        check_directory(LocalStore(tmp_path / "new"), job_name="orders")


def test_a_damaged_origin_is_named(store: Store):
    assert read_adopted_offsets(store) is None
    store.replace(names.ADOPTED, b"{}")
    with pytest.raises(PreflightError, match=r"adopted\.json is damaged"):
        read_adopted_offsets(store)
