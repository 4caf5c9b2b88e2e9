"""How versions go on where a job starts on a directory that has been used, or has not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checkpoint.rig import START, checkpoint

from milepost.checkpoint.store import identity
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import OFFSETS
from milepost.checkpoint.store.spark_log import CompletedBatch
from milepost.checkpoint.store.store import LocalStore
from milepost.checkpoint.versions import versions
from milepost.config import Config
from milepost.job.startup import generations
from milepost.pipeline import Plan
from milepost.sink.choose import create_stage
from milepost.source.start_offsets import PartitionStart, StartPlan


class StubEngine:
    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []

    def setEras(self, eras: str, since: int) -> None:
        self.told.append((eras, since))


def plan(
    version: str = "offset",
    *,
    topic_id: str = "id-1",
    partitions: int = 2,
    completed: CompletedBatch | None = None,
) -> Plan:
    sink: dict[str, Any] = {"quorum": "h:1", "table": "t", "row-key": ["id"], "columns": {"d": ["n"]}}
    config = Config(
        name="n",
        source={
            "kafka": {"bootstrap-servers": "h:1", "topics": ["t"], "format": "json", "schema": "id STRING"}
        },
        sink={"hbase": sink | {"version": version}},
        checkpointing={"dir": "/nowhere"},
    )
    starts = tuple(PartitionStart("t", number, 0, "earliest", 9) for number in range(partitions))
    return Plan(
        config=config,
        starts={"source": StartPlan(starts, None, None)},
        sink=create_stage(config, lambda *_: list),
        topic_ids={"t": topic_id},
        completed=completed,
    )


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def begin_batch(store: LocalStore) -> None:
    store.path(OFFSETS).mkdir()
    (store.path(OFFSETS) / "0").write_text('v1\n{}\n{"t":{"0":5,"1":5}}')


def known_partitions(known: versions.Versions | None) -> int:
    assert known is not None
    return len(known.topics["t"]["eras"][-1]["from"])


def test_versions_that_are_times_need_no_memory(store: LocalStore) -> None:
    assert generations.for_resume(plan("timestamp"), store) is None
    assert generations.for_fresh_start(plan("timestamp"), store) is None
    begin_batch(store)
    assert generations.for_resume(plan("timestamp"), store) is None


def test_a_first_start_knows_the_partitions_of_now(store: LocalStore) -> None:
    first = generations.for_resume(plan(partitions=3), store)
    assert first is not None
    assert first.generation == 0
    assert known_partitions(first) == 3


def test_a_job_that_did_not_remember_had_the_partitions_of_its_checkpoint(store: LocalStore) -> None:
    begin_batch(store)
    completed = CompletedBatch(0, ({"t": {0: 5, 1: 5}},))
    assert known_partitions(generations.for_resume(plan(partitions=3, completed=completed), store)) == 2


def test_what_was_remembered_counts(store: LocalStore) -> None:
    begin_batch(store)
    first = generations.for_fresh_start(plan(), store)
    assert first is not None
    versions.record(store, first)
    assert generations.for_resume(plan(partitions=5), store) == first


def test_where_the_file_is_gone_the_newest_checkpoint_has_a_copy(store: LocalStore) -> None:
    begin_batch(store)
    first = generations.for_fresh_start(plan(partitions=3), store)
    assert first is not None
    CheckpointFiles(store).complete(replace(checkpoint(0), versions=first.topics))
    assert generations.for_resume(plan(partitions=5), store) == replace(first, generation=0)


@pytest.mark.parametrize("remembers", [True, False], ids=["remembered", "known by its id alone"])
def test_another_topic_of_the_same_name_is_above_the_first(store: LocalStore, remembers: bool) -> None:
    if remembers:
        versions.record(store, generations.for_resume(plan(), store) or versions.Versions())
    begin_batch(store)
    identity.record(store, {"t": "id-1"})
    again = generations.for_fresh_start(plan(topic_id="id-2"), store)
    assert again is not None
    assert [era["generation"] for era in again.topics["t"]["eras"]] == [1]


def test_checkpoints_that_are_counted_anew_are_above_the_first(store: LocalStore) -> None:
    begin_batch(store)
    again = generations.for_fresh_start(plan("checkpoint"), store)
    assert again is not None
    assert again.generation == 1
    resumed = generations.for_resume(plan("checkpoint"), store)
    assert resumed is not None
    assert resumed.generation == 0


def test_the_engine_hears_when_nothing_had_grown(store: LocalStore) -> None:
    engine = StubEngine()
    for each in (plan(), plan("checkpoint"), plan("timestamp")):
        first = generations.for_resume(each, store)
        generations.pass_to_engine(replace(each, versions=first), store, engine)
    ((eras, since),) = engine.told
    assert '"generation": 0' in eras
    assert since > START.timestamp() * 1000


def test_a_completed_checkpoint_says_it_better(store: LocalStore) -> None:
    CheckpointFiles(store).complete(checkpoint(0))
    completed = CompletedBatch(0, ({"t": {0: 5, 1: 5}},))
    each = plan(completed=completed)
    engine = StubEngine()
    generations.pass_to_engine(replace(each, versions=generations.for_resume(each, store)), store, engine)
    assert [since for _, since in engine.told] == [int(checkpoint(0).triggered_at.timestamp() * 1000)]


def test_an_adopted_job_writes_above_the_cells_that_are_there() -> None:
    completed = CompletedBatch(4, ({"t": {0: 5}},))
    above = generations.for_adoption(plan(completed=completed), 3, 77)
    assert above is not None
    assert above.generation == 3
    (era,) = above.topics["t"]["eras"]
    assert era == {"generation": 3, "order": "offset", "from": {"0": 0}}, (
        "as many partitions as the query knew"
    )
    assert above.topics["t"]["begun"] == 77
    assert generations.for_adoption(plan("timestamp"), 3, 77) is None
