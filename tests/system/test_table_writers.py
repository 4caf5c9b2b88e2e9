"""A table has one writer, and a start that does not know what the table holds writes above it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]
from tests.system.lab import Lab, Sent, numbered, visible, wait_until

from milepost.checkpoint.lease import lease
from milepost.checkpoint.model import FailedCheckpoint
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions
from milepost.config import Config
from milepost.errors import FencedError, LeaseHeldError, MilepostError, PreflightError
from milepost.job.prepare import prepare_job
from milepost.job.spec import StartOptions
from milepost.job.start import start_job
from milepost.job.startup.table_ownership import TableUse
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job
from milepost.verify import verify_pipeline

KEYS = 40
GROWN = 5
FRESH = StartOptions(fresh=True)


def pipeline(lab: Lab, topic: str, table: str, folder: Path, *, name: str = "lab", **sink: Any) -> Config:
    """Return a job that ends at the topic's end."""
    document = lab.document(
        topic,
        table,
        source={"format": "json", "schema": "id STRING, n INT", "partition-growth": {"transition": "1s"}},
        sink={"columns": {"d": ["n"]}, "encoding": "string"} | sink,
        checkpointing={"dir": str(folder)},
    )
    return Config(**document | {"name": name})


def update(lab: Lab, topic: str, value: int, partitions: int) -> None:
    """Give every key a new value, each key in one partition."""
    records = (
        Sent(json.dumps({"id": f"k{n}", "n": value}).encode(), f"k{n}".encode(), n % partitions)
        for n in range(KEYS)
    )
    lab.produce(topic, *records)


def values(lab: Lab, config: Config) -> set[bytes]:
    rows = visible(lab.cells(config))
    return {rows[f"k{n}".encode()][b"n"] for n in range(KEYS)}


def newest_generation(config: Config, topic: str) -> int:
    known = versions.recorded(Store.at(config.checkpointing.dir))
    assert known is not None
    return int(known.topics[topic]["eras"][-1]["generation"])


def milepost_removed(_lab: Lab, config: Config, _copy: Path) -> tuple[Config, StartOptions]:
    shutil.rmtree(Path(config.checkpointing.dir) / "milepost")
    return config, StartOptions()


def elsewhere(lab: Lab, config: Config, _copy: Path) -> tuple[Config, StartOptions]:
    moved = config.checkpointing.model_copy(update={"dir": str(lab.folder("elsewhere"))})
    return config.model_copy(update={"checkpointing": moved}), StartOptions()


def fresh_elsewhere(lab: Lab, config: Config, copy: Path) -> tuple[Config, StartOptions]:
    return elsewhere(lab, config, copy)[0], FRESH


def old_copy(_lab: Lab, config: Config, copy: Path) -> tuple[Config, StartOptions]:
    shutil.rmtree(config.checkpointing.dir)
    shutil.copytree(copy, config.checkpointing.dir)
    return config, StartOptions()


@pytest.mark.parametrize("lose_memory", [milepost_removed, elsewhere, fresh_elsewhere, old_copy])
def test_a_job_that_lost_its_memory_writes_above_what_the_table_holds(
    lab: Lab, lose_memory: Callable[[Lab, Config, Path], tuple[Config, StartOptions]]
) -> None:
    topic, folder = lab.topic(partitions=2), lab.folder("memory")
    config = pipeline(lab, topic, lab.table("d"), folder / "checkpoint")
    update(lab, topic, 1, 2)
    lab.finish(config)
    copy = shutil.copytree(config.checkpointing.dir, folder / "copy")
    admin = AdminClient(lab.kafka)
    admin.create_partitions([NewPartitions(topic, GROWN)])[topic].result(timeout=30)
    update(lab, topic, 2, GROWN)
    lab.finish(config)
    reached = newest_generation(config, topic)
    assert reached > 0
    update(lab, topic, 3, GROWN)
    forgetful, options = lose_memory(lab, config, copy)
    prepared = prepare_job(lab.spec(forgetful, options=options))
    assert any("has no record of the versions" in warning for warning in prepared.plan.warnings)
    lab.finish(forgetful, options=options)
    assert newest_generation(forgetful, topic) >= reached
    assert values(lab, config) == {b"3"}
    report = verify_pipeline(forgetful, lab.spark)
    assert report.is_verified, report.lines()


def test_a_topic_created_again_is_read_into_the_same_table_from_another_directory(lab: Lab) -> None:
    topic, table = lab.topic(), lab.table("d")
    update(lab, topic, 1, 1)
    update(lab, topic, 2, 1)
    lab.finish(pipeline(lab, topic, table, lab.folder("first")))
    admin = AdminClient(lab.kafka)
    admin.delete_topics([topic])[topic].result(timeout=30)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone")
    lab.create_topic(topic)
    update(lab, topic, 3, 1)
    config = pipeline(lab, topic, table, lab.folder("second"))
    lab.finish(config)
    assert values(lab, config) == {b"3"}


def test_checkpoint_ids_of_an_old_copy_do_not_hide(lab: Lab) -> None:
    topic, folder = lab.topic(*numbered(2)), lab.folder("old")
    parts: dict[str, Any] = {
        "sql": "SELECT 'all' AS id, CAST(count(*) AS INT) AS n FROM source",
        "sink": {"version": "checkpoint"},
        "table": lab.table("d"),
        "checkpointing": {"dir": str(folder / "checkpoint")},
        "source": {"max-offsets-per-trigger": 2},
    }
    config = lab.numbers(topic, **parts)
    lab.finish(config)
    copy = shutil.copytree(folder / "checkpoint", folder / "copy")
    lab.produce(topic, *numbered(6))
    lab.finish(config)
    assert visible(lab.cells(config)) == {b"all": {b"n": b"8"}}
    shutil.rmtree(folder / "checkpoint")
    shutil.copytree(copy, folder / "checkpoint")
    lab.produce(topic, *numbered(1))
    lab.finish(lab.numbers(topic, **parts | {"source": {}}))  # one checkpoint now, where there were three
    assert visible(lab.cells(config)) == {b"all": {b"n": b"9"}}


def test_cells_of_another_program_do_not_hide_a_new_job(lab: Lab) -> None:
    topic, table = lab.topic(), lab.table("d")
    put = lab.hbase.jvm.org.apache.hadoop.hbase.client.Put(b"k7")
    put.addColumn(b"d", b"n", 5 << 48, b"from elsewhere")
    name = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(table)
    lab.hbase.connection.getTable(name).put(put)
    update(lab, topic, 1, 1)
    config = pipeline(lab, topic, table, lab.folder("new"))
    with pytest.raises(PreflightError, match="hide every version"):
        prepare_job(lab.spec(pipeline(lab, topic, table, lab.folder("timed"), version="timestamp")))
    lab.finish(config)
    assert newest_generation(config, topic) == 6
    assert values(lab, config) == {b"1"}
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()


def first_pipeline(lab: Lab, table: str) -> Config:
    """Run a pipeline whose offsets are far above those of any later one."""
    topic = lab.topic(*numbered(500))
    update(lab, topic, 1, 1)
    config = pipeline(lab, topic, table, lab.folder("first"), name="first")
    lab.finish(config)
    return config


def second_topic(lab: Lab) -> str:
    topic = lab.topic()
    update(lab, topic, 2, 1)
    return topic


@pytest.mark.parametrize("name", ["second", "first"], ids=["another name", "the same name"])
def test_a_second_pipeline_is_refused_before_its_first_write(lab: Lab, name: str) -> None:
    table = lab.table("d")
    first = first_pipeline(lab, table)
    before = lab.cells(first)
    second = pipeline(lab, second_topic(lab), table, lab.folder("second"), name=name)
    with pytest.raises(PreflightError, match=f"Table {table!r} is written by pipeline 'first'") as refused:
        lab.finish(second)
    assert refused.value.exit_code == 2
    assert "shared: true" in refused.value.fix
    assert lab.cells(first) == before


def test_a_table_that_is_claimed_shows_the_new_pipeline_and_refuses_the_old(lab: Lab) -> None:
    table = lab.table("d")
    first = first_pipeline(lab, table)
    second = pipeline(lab, second_topic(lab), table, lab.folder("second"), name="second")
    lab.finish(second, options=StartOptions(table=TableUse.TAKE_OVER))
    assert values(lab, second) == {b"2"}
    with pytest.raises(PreflightError, match="is written by pipeline 'second'"):
        prepare_job(lab.spec(first))


def test_a_shared_table_takes_both_and_says_what_holds(lab: Lab) -> None:
    table = lab.table("d")
    first = first_pipeline(lab, table)
    second = pipeline(lab, second_topic(lab), table, lab.folder("second"), name="second", shared=True)
    prepared = prepare_job(lab.spec(second))
    assert any("is shared with pipeline 'first'" in warning for warning in prepared.plan.warnings)
    lab.finish(second)
    lab.finish(first)  # which does not know of the other: the table is shared as soon as one says so


def test_pipelines_of_other_families_write_one_table(lab: Lab) -> None:
    table = lab.table("d", "e")
    first_pipeline(lab, table)
    second = pipeline(
        lab, second_topic(lab), table, lab.folder("second"), name="second", columns={"e": ["n"]}
    )
    lab.finish(second)
    found = {cell[5] for cell in lab.cells(second) if cell[1] == "e"}
    assert found == {b"2"}


def test_a_table_made_anew_by_the_job_belongs_to_it(lab: Lab) -> None:
    table = lab.table("d")
    first_pipeline(lab, table)
    admin = lab.hbase.connection.getAdmin()
    name = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(table)
    admin.disableTable(name)
    admin.deleteTable(name)
    making: dict[str, Any] = {"create-table": {"regions": 1}}
    second = pipeline(lab, second_topic(lab), table, lab.folder("second"), name="second", **making)
    lab.finish(second)
    assert values(lab, second) == {b"2"}


def endless(config: Config) -> Config:
    source = config.views["source"].model_copy(update={"stop": "never"})
    assert config.source is not None
    return config.model_copy(update={"source": config.source.model_copy(update={"kafka": source})})


def test_a_running_job_is_not_taken_over_from_another_directory(lab: Lab) -> None:
    topic, table = second_topic(lab), lab.table("d")
    first = endless(pipeline(lab, topic, table, lab.folder("first")))
    elsewhere = pipeline(lab, topic, table, lab.folder("second"))
    with lab.running(first):
        with pytest.raises(LeaseHeldError, match=r"is running in .* and writes to table"):
            prepare_job(lab.spec(elsewhere))
        with pytest.raises(PreflightError, match="is written by pipeline"):
            prepare_job(lab.spec(elsewhere.model_copy(update={"name": "other"})))
    lab.finish(elsewhere)


def test_a_job_that_lost_its_table_to_another_machine_stops_at_its_next_checkpoint(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, table = second_topic(lab), lab.table("d")
    first = endless(pipeline(lab, topic, table, lab.folder("first")))
    job = lab.start(first)
    # The directory of a job on another machine cannot be seen from here.
    monkeypatch.setattr(lease, "holder", lambda _: None)
    second = pipeline(lab, topic, table, lab.folder("second"))
    ownership = prepare_job(lab.spec(second)).ownership
    assert ownership is not None
    ownership.claim(lab.spark, pytest.fail)
    update(lab, topic, 3, 1)
    assert job.wait() is JobStatus.FAILED
    assert isinstance(job.error, FencedError)
    assert "taken over table" in job.error.what
    assert any(failed.reason.name == "FENCED" for failed in _failed(job))
    lab.finish(second)
    assert values(lab, second) == {b"3"}


def test_a_live_job_that_has_yet_to_make_its_table_is_not_replaced(lab: Lab) -> None:
    topic, table = second_topic(lab), lab.name("to-be-made")
    making: dict[str, Any] = {"create-table": {"regions": 1}}
    first = pipeline(lab, topic, table, lab.folder("first"), name="first", **making)
    ownership = prepare_job(lab.spec(first)).ownership
    assert ownership is not None
    held = lease.Lease.acquire(Store.at(first.checkpointing.dir), "first")
    try:
        ownership.claim(lab.spark, pytest.fail)
        second = pipeline(lab, topic, table, lab.folder("second"), name="second", **making)
        with pytest.raises(LeaseHeldError, match=r"'first' is running in .* and writes to table"):
            prepare_job(lab.spec(second))
    finally:
        held.release()


def test_of_two_claims_at_the_same_time_one_succeeds(lab: Lab) -> None:
    topic, table = second_topic(lab), lab.table("d")
    started = [
        prepare_job(lab.spec(pipeline(lab, topic, table, lab.folder(name), name=name)))
        for name in ("one", "two")
    ]
    outcomes: list[MilepostError | None] = []
    for prepared in started:
        try:
            assert start_job(prepared).wait() is JobStatus.FINISHED
            outcomes.append(None)
        except MilepostError as error:
            outcomes.append(error)
    assert outcomes[0] is None
    assert isinstance(outcomes[1], LeaseHeldError)
    assert "while this one was starting" in outcomes[1].what


def _failed(job: Job) -> list[FailedCheckpoint]:
    with job.checkpoints.changed:
        return [each for each in job.checkpoints.stats.history if isinstance(each, FailedCheckpoint)]
