"""Restoring savepoints: older ones, in other directories, with state, killed in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.system.drivers import Driver, write_pipeline
from tests.system.lab import Lab, Sent, numbered, wait_until

from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.savepoint.restore import verify
from milepost.checkpoint.store.layout import DISCARDED, RESTORING
from milepost.checkpoint.store.pinned_settings import HDFS, PROVIDER, ROCKSDB
from milepost.checkpoint.store.store import LocalStore
from milepost.checkpoint.versions import versions
from milepost.config import Config, load_config
from milepost.errors import PreflightError
from milepost.job.spec import StartOptions
from milepost.job.status import JobStatus
from milepost.verify import verify_pipeline

CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
COUNTS = "SELECT id, COUNT(*) AS n FROM source GROUP BY id"


def stopping(lab: Lab, topic: str, **sections: Any) -> dict[str, Any]:
    places = {
        "dir": str(lab.folder("checkpoint")),
        "savepoint-dir": str(lab.folder("savepoints")),
        "interval": "1h",
        "timeout": "1h",
    }
    document: dict[str, Any] = lab.document(
        topic,
        sections.pop("table", None) or lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT", "stop": "never"} | sections.pop("source", {}),
        sink={"columns": {"d": ["n"]}, "encoding": "string"} | sections.pop("sink", {}),
        checkpointing=places | sections.pop("checkpointing", {}),
        **sections,
    )
    return document


def savepoint_then_stop(lab: Lab, config: Config, topic: str, more: list[Sent]) -> Savepoint:
    """Take a savepoint, let more records through, and stop with another one; return the first."""
    with lab.running(config) as running:
        first = running.pipeline.savepoint(timeout=60)
        lab.produce(topic, *more)
        assert running.pipeline.stop() is JobStatus.FINISHED
    return first


def run_on(lab: Lab, config: Config, savepoint: Savepoint, **options: Any) -> int:
    """Restore, run to the end of the topic, and return how many rows were written."""
    with lab.running(config, options=StartOptions(savepoint=savepoint, **options)) as running:
        running.pipeline.checkpoint(60)
        rows = running.job.progress().rows
        assert running.pipeline.cancel() is JobStatus.CANCELED
    return rows


def test_an_older_savepoint_is_restored_in_its_directory_and_in_another(lab: Lab):
    topic = lab.topic(*numbered(20))
    document = stopping(lab, topic)
    config = Config(**document)
    first = savepoint_then_stop(lab, config, topic, numbered(10, first=20))
    store = LocalStore(Path(config.checkpointing.dir))
    eras = versions.recorded(store)
    assert run_on(lab, config, first) == 10, "what came after the savepoint is read again"
    assert store.exists(f"{DISCARDED}/1/offsets"), "what was there is set aside"
    assert (versions.recorded(store) or eras) != eras, "a generation of its own"
    moved = Path(first.path).rename(lab.folder("moved") / "anywhere")
    elsewhere = document | {"checkpointing": document["checkpointing"] | {"dir": str(lab.folder("other"))}}
    assert run_on(lab, Config(**elsewhere), catalog.load(str(moved)), claim_mode="claim") == 10
    wait_until(lambda: not moved.exists(), "the claimed savepoint is removed after the first checkpoint")
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0


def test_a_savepoint_of_something_else_is_refused_and_nothing_is_touched(lab: Lab):
    topic = lab.topic(*numbered(3))
    document = stopping(lab, topic)
    first = savepoint_then_stop(lab, Config(**document), topic, [])
    before = {
        path for path in Path(document["checkpointing"]["dir"]).rglob("*") if "driver.log" not in path.name
    }
    other = document | {"sink": {"hbase": document["sink"]["hbase"] | {"table": lab.table("d")}}}
    with pytest.raises(PreflightError, match=r"sink\.hbase\.table was t-.* and is t-"):
        lab.start(Config(**other), options=StartOptions(savepoint=first))
    lab.create_topic(lab.name("unrelated"))
    state = Path(first.path) / "offsets" / str(first.checkpoint_id)
    state.write_bytes(state.read_bytes() + b" ")
    with pytest.raises(PreflightError, match="is not the file of the savepoint"):
        lab.start(Config(**document), options=StartOptions(savepoint=first))
    after = {
        path for path in Path(document["checkpointing"]["dir"]).rglob("*") if "driver.log" not in path.name
    }
    assert after == before


@pytest.mark.parametrize("backend", ["rocksdb", "rocksdb-snapshots", "filesystem"])
def test_counts_go_on_from_the_state_of_the_savepoint(lab: Lab, backend: str, request: pytest.FixtureRequest):
    kept = lab.spark.conf.get(PROVIDER) or ROCKSDB
    request.addfinalizer(lambda: lab.spark.conf.set(PROVIDER, kept))
    lab.spark.conf.set(PROVIDER, HDFS if backend == "filesystem" else ROCKSDB)
    if backend == "rocksdb-snapshots":
        # Without a changelog every version is a snapshot that refers to shared files.
        request.addfinalizer(lambda: lab.spark.conf.set(CHANGELOG, "true"))
        lab.spark.conf.set(CHANGELOG, "false")
    records = [Sent(json.dumps({"id": f"k{n % 3}", "n": n}).encode()) for n in range(9)]
    topic = lab.topic(*records)
    document = stopping(
        lab,
        topic,
        sql=COUNTS,
        sink={"version": "checkpoint"},
        checkpointing={"state-backend": backend.removesuffix("-snapshots")},
    )
    first = savepoint_then_stop(lab, Config(**document), topic, records[:6])
    assert any(name.startswith("state/") for name in first.files)
    assert any("/SSTs/" in name for name in first.files) == (backend == "rocksdb-snapshots")
    verify(first)
    lab.produce(topic, *records[:3])
    elsewhere = document | {"checkpointing": document["checkpointing"] | {"dir": str(lab.folder("other"))}}
    config = Config(**elsewhere)
    assert run_on(lab, config, first) == 3
    assert {row.id: row.n for row in lab.rows(config, "id STRING, n STRING")} == {
        "k0": "6",
        "k1": "6",
        "k2": "6",
    }


def test_a_restore_that_was_killed_never_starts_by_itself(lab: Lab):
    topic = lab.topic(*numbered(20))
    document = stopping(lab, topic)
    bounded = {"kafka": document["source"]["kafka"] | {"stop": "latest"}}
    file = write_pipeline(lab.folder("killed"), document | {"source": bounded})
    config = load_config(file)
    with lab.running(Config(**document)) as running:
        savepoint = running.pipeline.savepoint(timeout=60)
    lab.produce(topic, *numbered(5, first=20))
    command = [sys.executable, "-m", "milepost", "savepoint", "check", str(file), savepoint.path]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "5 records to replay up to the end of the log" in checked.stdout
    assert "OK: this savepoint can be restored." in checked.stdout
    arguments = ("--from-savepoint", savepoint.path)
    with Driver(file, "1-restore-file@4=kill", *arguments) as driver:
        assert driver.end() == -9, driver.output
    assert (Path(config.checkpointing.dir) / RESTORING).exists()
    with Driver(file) as driver:
        assert driver.end() == 2, driver.output
        assert f"--from-savepoint {savepoint.path}" in driver.output
    with Driver(file, "", *arguments) as driver:
        assert driver.end() == 0, driver.output
        assert "5 rows" in driver.output
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0
