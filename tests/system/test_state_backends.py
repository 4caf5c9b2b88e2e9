"""What a state backend keeps over a restart in the process, and what the first checkpoint fixes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.system.lab import Lab, Sent

from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions
from milepost.config import Config
from milepost.errors import PreflightError
from milepost.job.prepare import prepare_job
from milepost.job.spark.settings import session_settings
from milepost.job.spec import JobSpec, StartOptions
from milepost.job.start import start_job
from milepost.job.status import JobStatus
from milepost.migrate.repartition import repartition

WORDS = ["a", "b", "a", "c", "a", "poison", "b"] * 5


def job(lab: Lab, topic: str, table: str, directory: Path, **changes: Any) -> Config:
    document = lab.document(
        topic,
        table,
        source={"format": "string", "max-offsets-per-trigger": 7, "stop": changes.pop("stop", "latest")},
        sink={"row-key": ["word"], "columns": {"d": ["n"]}, "encoding": "string", "version": "checkpoint"},
        checkpointing={"dir": str(directory), "state-backend": changes.pop("backend", "memory")},
        restart={"strategy": "fixed-delay", "attempts": 1, "delay": "0s"},
    )
    return Config(**document, spark={"conf": {"spark.sql.shuffle.partitions": changes.pop("partitions", 2)}})


def spec(lab: Lab, config: Config, transformation: Any) -> JobSpec:
    """Return a job in a session of its own: its settings are those of its state backend."""
    own = lab.spark.newSession()
    for key, value in session_settings(config).items():
        own.conf.set(key, value)
    return JobSpec(
        spark=own,
        config=config,
        folder=lab.root,
        log=lab.root / "driver.log",
        transformation=transformation,
        warn=lambda _: None,
    )


def table(lab: Lab, config: Config) -> dict[str, int]:
    return {row.word: int(row.n) for row in lab.rows(config, "word STRING, n STRING")}


def test_memory_outlives_a_restart_but_not_its_process_and_what_is_fixed_is_refused(lab: Lab) -> None:
    folder = lab.folder("backends")
    once = folder / "failed-once"
    topic, name = lab.topic(*(Sent(word.encode()) for word in WORDS)), lab.table()

    @F.udf("string")
    def fails_once(word):
        if word == "poison" and not once.exists():
            once.touch()
            raise ValueError("poison")
        return word

    def counted(rows: DataFrame) -> DataFrame:
        # The poison is in every batch: the second one fails for the first time.
        word = F.when(F.col("_kafka.offset") >= 7, fails_once("value")).otherwise(F.col("value"))
        return rows.groupBy(word.alias("word")).agg(F.count("*").alias("n"))

    config = job(lab, topic, name, folder / "checkpoint")
    store = Store.at(config.checkpointing.dir)
    running = start_job(prepare_job(spec(lab, config, counted)))
    assert running.wait() is JobStatus.FINISHED, str(running.error)
    assert running.restarts == 1
    assert table(lab, config) == Counter(WORDS), "a restart in the process goes on with the sums"
    assert (versions.recorded(store) or versions.Versions(generation=9)).generation == 0

    anew = prepare_job(spec(lab, config, counted))
    assert (anew.plan.start.resumed_from, anew.plan.start.offsets()) == (None, {topic: {0: 0}})
    assert any("state-backend is memory" in warning for warning in anew.plan.warnings)
    running = start_job(anew)
    assert running.wait() is JobStatus.FINISHED, str(running.error)
    assert table(lab, config) == Counter(WORDS), "what is read again hides what was there"
    assert (versions.recorded(store) or versions.Versions()).generation == 1

    for changes, sentence in (
        ({"backend": "rocksdb"}, "written by state-backend filesystem"),
        ({"backend": "filesystem", "partitions": 5}, "kept in 2 parts"),
    ):
        changed = job(lab, topic, name, folder / "checkpoint", **changes)
        with pytest.raises(PreflightError, match=sentence):
            prepare_job(spec(lab, changed, counted))
    kept = job(lab, topic, name, folder / "checkpoint", backend="filesystem")
    assert prepare_job(spec(lab, kept, counted)).plan.start.resumed_from is not None

    def without_state(rows: DataFrame) -> DataFrame:
        return rows.selectExpr("value AS word", "1 AS n")

    with pytest.raises(PreflightError, match="it has stateStoreSave, and the pipeline has none"):
        prepare_job(spec(lab, kept, without_state))


def test_a_savepoint_with_its_state_in_more_parts_goes_on(lab: Lab) -> None:
    folder, name = lab.folder("parts"), lab.table()
    topic = lab.topic(*(Sent(word.encode()) for word in WORDS))

    def counted(rows: DataFrame) -> DataFrame:
        return rows.groupBy(F.col("value").alias("word")).agg(F.count("*").alias("n"))

    config = job(lab, topic, name, folder / "checkpoint", backend="rocksdb")
    running = start_job(prepare_job(spec(lab, config, counted)))
    assert running.wait() is JobStatus.FINISHED, str(running.error)
    endless = job(lab, topic, name, folder / "checkpoint", backend="rocksdb", stop="never")
    running = start_job(prepare_job(spec(lab, endless, counted)))
    stopping = running.stop_with_savepoint(str(folder))
    assert running.wait() is JobStatus.FINISHED, str(running.error)
    savepoint = stopping.result(60)

    moved = job(lab, topic, name, folder / "moved", backend="rocksdb", partitions=5)
    with pytest.raises(PreflightError, match=r"kept in 2 parts.*savepoint repartition PATH --to 5"):
        prepare_job(replace(spec(lab, moved, counted), options=StartOptions(savepoint=savepoint)))
    with pytest.raises(PreflightError, match="already has 2 partitions"):
        repartition(lab.spark, savepoint, 2)
    before = {path: path.stat().st_mtime_ns for path in Path(savepoint.path).rglob("*")}
    made = repartition(lab.spark, savepoint, 5)
    assert {path: path.stat().st_mtime_ns for path in Path(savepoint.path).rglob("*") if path.is_file()} == {
        path: at for path, at in before.items() if path.is_file()
    }, "the savepoint stays as it is"
    assert made.checkpoint_id == savepoint.checkpoint_id + 1
    assert [each.name for each in catalog.load_all(str(folder))].count(made.name) == 1
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == [], (
        "nothing is left behind"
    )

    lab.produce(topic, *(Sent(word.encode()) for word in WORDS))
    running = start_job(prepare_job(replace(spec(lab, moved, counted), options=StartOptions(savepoint=made))))
    assert running.wait() is JobStatus.FINISHED, str(running.error)
    assert table(lab, moved) == Counter(WORDS + WORDS), "every key is found in its new part"
    parts = [path.name for path in (folder / "moved" / "state" / "0").iterdir() if path.name.isdigit()]
    assert sorted(parts) == ["0", "1", "2", "3", "4"]


def test_a_job_without_state_may_change_its_partitions_and_its_backend(lab: Lab) -> None:
    folder, name = lab.folder("stateless"), lab.table()
    topic = lab.topic(*(Sent(word.encode()) for word in "ab"))

    def shuffled(rows: DataFrame) -> DataFrame:
        return rows.selectExpr("value AS word", "'1' AS n", "_kafka").repartition("word")

    for number, (backend, partitions) in enumerate([("rocksdb", 2), ("filesystem", 5), ("rocksdb", 3)]):
        config = job(lab, topic, name, folder / "checkpoint", backend=backend, partitions=partitions)
        running = start_job(prepare_job(spec(lab, config, shuffled)))
        assert running.wait() is JobStatus.FINISHED, str(running.error)
        assert running.progress().rows == (2 if number == 0 else 1)
        lab.produce(topic, Sent(f"c{number}".encode()))
    assert set(table(lab, config)) == {"a", "b", "c0", "c1"}
