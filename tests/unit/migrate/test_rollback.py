"""What a roll back is asked for, and the pipeline that reads again what is undone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checkpoint.savepoint.test_write import savepoint
from tests.unit.checkpoint.spark_directory import SparkDirectory, ends

from milepost.checkpoint.recovery import marker
from milepost.checkpoint.savepoint.write import finish, pin
from milepost.checkpoint.store.identity import JobIdentity, record_job
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config
from milepost.config.values.position import AtOffsets, UntilOffsets
from milepost.errors import JobFailedError, MilepostError, NotReachableError, PreflightError
from milepost.migrate.rollback import (
    find_boundary,
    make_replay_config,
    require_done,
    require_own,
)
from milepost.migrate.rollback_table import RollbackCounts
from milepost.source.start_offsets import PartitionStart, StartPlan


@pytest.fixture
def job(tmp_path: Path) -> SparkDirectory:
    spark = SparkDirectory(tmp_path / "orders").batches(offsets=range(4), commits=range(4))
    record_job(spark.store, JobIdentity(name="orders", job_id="j"))
    return spark


def saved(job: SparkDirectory, folder: Path, name: str) -> str:
    """Return the path of a savepoint of checkpoint 3."""
    target = LocalStore(folder / "savepoints")
    return finish(pin(job.store, target, replace(savepoint(target), job_name=name))).path


def test_a_checkpoint_and_a_savepoint_are_boundaries(job: SparkDirectory, tmp_path: Path):
    found = find_boundary(job.store, "checkpoint:2", "orders")
    assert (found.batch.batch_id, found.batch.sources) == (2, ({"orders": ends(2)},))
    found = find_boundary(job.store, saved(job, tmp_path, "orders"), "orders")
    assert found.savepoint is not None
    assert (found.batch.batch_id, found.batch.sources) == (3, ({"orders": ends(3)},))


@pytest.mark.parametrize(
    ("to", "kind", "what"),
    [
        ("checkpoint:x", PreflightError, "is not a checkpoint"),
        ("checkpoint:", PreflightError, "is not a checkpoint"),
        ("checkpoint:9", NotReachableError, "Checkpoint 9 is no longer in"),
        ("nowhere", NotReachableError, "There is no savepoint at"),
    ],
)
def test_a_wrong_boundary_is_refused(job: SparkDirectory, to: str, kind: type[MilepostError], what: str):
    with pytest.raises(kind, match=what) as raised:
        find_boundary(job.store, to, "orders")
    assert raised.value.fix


def test_a_savepoint_of_another_job_is_refused(job: SparkDirectory, tmp_path: Path):
    with pytest.raises(PreflightError, match="belongs to job 'invoices'"):
        find_boundary(job.store, saved(job, tmp_path, "invoices"), "orders")


def test_only_the_jobs_own_directory_goes_back(job: SparkDirectory, tmp_path: Path):
    require_own(job.store, "orders")
    with pytest.raises(PreflightError, match="is not the checkpoint directory of job 'invoices'"):
        require_own(job.store, "invoices")
    with pytest.raises(PreflightError, match="is not the checkpoint directory"):
        require_own(SparkDirectory(tmp_path / "new").store, "orders")
    marker.begin(job.store, "milepost rollback orders.yaml --to checkpoint:2")
    require_own(job.store, "orders")
    marker.begin(job.store, "milepost adopt orders.yaml")
    with pytest.raises(PreflightError, match="milepost adopt"):
        require_own(job.store, "orders")


@pytest.mark.parametrize("several", [False, True], ids=["one source", "sources"])
def test_reading_again_is_bounded_and_leaves_no_trace(tmp_path: Path, several: bool):
    kafka: dict[str, Any] = {
        "bootstrap-servers": "h:1",
        "topics": ["t"],
        "group-id": "g",
        "format": "json",
        "schema": "id STRING, n INT",
        "bad-records": {"dead-letter": "dead"},
    }
    source = {"sources": {"a": {"kafka": kafka}}} if several else {"source": {"kafka": kafka}}
    config = Config(
        name="orders",
        **source,
        participants=["m:p"],
        sink={
            "hbase": {
                "quorum": "h:1",
                "table": "t",
                "row-key": ["id"],
                "columns": {"d": ["n"]},
                "write": "auto",
            }
        },
        checkpointing={"dir": "/data"},
    )
    (view,) = config.views
    starts = {view: StartPlan((PartitionStart("t", 0, 5, "checkpoint 1", 99),), 1, None)}
    again = make_replay_config(config, tmp_path, starts, {"t": {0: 9}})
    found = again.views[view]
    assert found.start == AtOffsets(offsets={"t": {0: 5}})
    assert found.stop == UntilOffsets(offsets={"t": {0: 9}})
    assert (found.commit, found.bad_records) == ("disabled", "skip"), "no offset of the group, no letter"
    assert (again.participants, again.checkpointing.dir, again.sink.hbase.write) == (
        (),
        str(tmp_path),
        "mutations",
    )
    assert config.views[view].stop == "never"


def test_what_is_not_what_it_was_ends_the_roll_back():
    require_done(RollbackCounts(rows=3, same=2, lost=1))
    with pytest.raises(JobFailedError, match="2 cells do not have their values"):
        require_done(RollbackCounts(rows=3, restored=1, removed=1))
