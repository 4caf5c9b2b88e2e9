"""What is given to plain Spark is a completed checkpoint, whole, and nothing of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checkpoint.spark_directory import PowerCut, SparkDirectory

from milepost.checkpoint.recovery.preflight import check_directory
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.identity import JobIdentity, record_job
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import NotReachableError, PreflightError
from milepost.migrate.export import export_checkpoint


@pytest.fixture
def job(spark: SparkDirectory) -> SparkDirectory:
    """Batch 2 is done, 3 is begun and has written some state."""
    spark.batches(offsets=range(4), commits=range(3))
    record_job(spark.store, JobIdentity(name="orders", job_id="j"))
    spark.checksum("offsets/3")
    for name in ("0/0/3.delta", "0/0/4.delta", "1/0/3.changelog", "1/0/4_ab.zip", "1/0/SSTs/7-ab.sst"):
        spark.write(f"state/{name}", name)
    spark.write("state/0/_metadata/metadata", "v1\n{}")
    return spark


def test_what_belongs_to_the_completed_checkpoint(job: SparkDirectory, store: Store, tmp_path: Path):
    target = LocalStore(tmp_path / "out") if isinstance(store, LocalStore) else store
    assert export_checkpoint(job.store, target) == 2
    found = {name for folder in ("offsets", "commits", "sources", "state") for name in target.walk(folder)}
    assert found == {
        *(f"{log}/{number}" for log in ("offsets", "commits") for number in range(3)),
        "sources/0/0",
        "state/0/0/3.delta",
        "state/1/0/3.changelog",
        "state/1/0/SSTs/7-ab.sst",
        "state/0/_metadata/metadata",
    }
    assert {entry.name for entry in target.entries("")} == {
        "metadata",
        "offsets",
        "commits",
        "sources",
        "state",
    }
    check_directory(target, job_name="anybody")
    assert CheckpointFiles(target).ids() == []


def test_a_directory_that_is_there_is_refused(job: SparkDirectory, tmp_path: Path):
    with pytest.raises(PreflightError, match="already exists"):
        export_checkpoint(job.store, LocalStore(tmp_path))


def test_a_job_without_a_checkpoint(spark: SparkDirectory, tmp_path: Path):
    spark.batches(offsets=[0], commits=[])
    with pytest.raises(NotReachableError, match="no completed checkpoint"):
        export_checkpoint(spark.store, LocalStore(tmp_path / "out"))


class Fleeting(LocalStore):
    """Loses a file the first few times, as under a job that goes on."""

    def __init__(self, root: Path, times: int) -> None:
        super().__init__(root)
        self.times = times

    def read(self, name: str) -> bytes:
        if name == "state/0/0/3.delta" and self.times > 0:
            self.times -= 1
            raise FileNotFoundError(name)
        return super().read(name)


def test_a_job_that_goes_on_is_copied_again(job: SparkDirectory, tmp_path: Path):
    assert export_checkpoint(Fleeting(job.root, 2), LocalStore(tmp_path / "out")) == 2
    with pytest.raises(NotReachableError, match="are removed faster"):
        export_checkpoint(Fleeting(job.root, 99), LocalStore(tmp_path / "other"))
    assert [path.name for path in tmp_path.iterdir()].count("other") == 0


def test_a_death_leaves_nothing_under_the_name(job: SparkDirectory, tmp_path: Path):
    class Dying(LocalStore):
        def read(self, name: str) -> bytes:
            if name == "metadata":
                raise PowerCut
            return super().read(name)

    with pytest.raises(PowerCut):
        export_checkpoint(Dying(job.root), LocalStore(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert export_checkpoint(job.store, LocalStore(tmp_path / "out")) == 2
    assert not (tmp_path / ".out.inprogress").exists()
