"""A job goes back with its table, and forward again: both ends equal what the log says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.system.lab import Lab, Sent, visible

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.recovery import rollback
from milepost.checkpoint.savepoint.manifest import Savepoint, SavepointTrigger
from milepost.checkpoint.savepoint.write import finish, pin
from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.checkpoint.versions import versions
from milepost.config import Config
from milepost.errors import PreflightError
from milepost.migrate.rollback import Rollback, inspect
from milepost.verify import verify_pipeline

COMMAND = "milepost rollback pipeline.yaml --to checkpoint:0 --yes"
SCHEMA = "id STRING, n INT"
Table = dict[bytes, dict[bytes, bytes]]


def record(number: int, value: int | None) -> Sent:
    """Return a record of a key that is always in the same partition; of three keys two are in the second."""
    key = f"k{number:02d}"
    body = None if value is None else json.dumps({"id": key, "n": value}).encode()
    return Sent(body, key.encode(), partition=0 if number % 3 == 0 else 1)


def table_of_versions(lab: Lab, keep: int) -> str:
    """Create a table whose family keeps some versions."""
    name = lab.name("t")
    client = lab.hbase.jvm.org.apache.hadoop.hbase.client
    family = client.ColumnFamilyDescriptorBuilder.newBuilder(b"d").setMaxVersions(keep).build()
    table = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(name)
    admin = lab.hbase.connection.getAdmin()
    admin.createTable(client.TableDescriptorBuilder.newBuilder(table).setColumnFamily(family).build())
    admin.close()
    return name


def config_of(lab: Lab, topic: str, table: str, directory: Path, **keys: Any) -> Config:
    return lab.config(
        topic,
        table,
        source={"format": "json", "schema": SCHEMA},
        sink={"columns": {"d": ["n"]}, "encoding": "string", **keys},
        checkpointing={"dir": str(directory)},
        sql="SELECT id, sum(n) AS n FROM source GROUP BY id" if keys.get("version") == "checkpoint" else None,
    )


def shown(lab: Lab, config: Config) -> Table:
    return visible(lab.cells(config))


def newest(config: Config) -> int:
    completed = newest_completed(LocalStore(Path(config.checkpointing.dir)))
    assert completed is not None
    return completed.batch_id


def taken(config: Config, folder: Path) -> str:
    """Take a savepoint of the newest checkpoint of a job that is down, and return its path."""
    name = "savepoint-6b1e2f-0a1b2c3d4e5f"
    savepoint = Savepoint(
        path=str(folder / name),
        name=name,
        checkpoint_id=CheckpointId(newest(config)),
        trigger=SavepointTrigger.MANUAL,
        taken_at=utc_now(),
        job_name=config.name,
        job_id="6b1e2f",
        directory=config.checkpointing.dir,
        written_by="test",
    )
    return finish(pin(Store.at(config.checkpointing.dir), LocalStore(folder), savepoint)).path


def look(lab: Lab, config: Config, to: str) -> Rollback:
    return inspect(lab.spec(config), to, keep_table=False).inspect_table()


def test_a_table_goes_back_with_its_job_and_forward_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    topic = lab.topic(*(record(n, n) for n in range(12)), partitions=2)
    config = config_of(lab, topic, table_of_versions(lab, 4), lab.folder("checkpoint"))
    lab.finish(config)
    first, then = newest(config), shown(lab, config)
    savepoint = taken(config, tmp_path)

    # Values change twice, rows come, a row goes, and one comes and goes.
    lab.produce(topic, *(record(n, 100 + n) for n in range(6)), *(record(n, 200 + n) for n in range(3)))
    lab.produce(topic, *(record(n, n) for n in range(20, 24)), record(11, None), record(20, None))
    lab.finish(config)
    now = shown(lab, config)
    assert now != then

    found = look(lab, config, f"checkpoint:{first}")
    assert found.records == 15
    assert found.table is not None
    assert (found.table.found.restored, found.table.found.removed) == (7, 3)
    assert shown(lab, config) == now, "a look changes nothing"

    with monkeypatch.context() as patch:
        patch.setattr(rollback, "roll_back", lambda *_: (_ for _ in ()).throw(OSError("power cut")))
        with pytest.raises(OSError, match="power cut"):
            found.apply(COMMAND)
    with pytest.raises(PreflightError, match="did not finish"):
        lab.start(config)
    after = look(lab, config, f"checkpoint:{first}").apply(COMMAND)
    assert after is not None
    assert (after.restored, after.removed) == (0, 0)
    assert shown(lab, config) == then, "the table is what the log says up to the boundary"
    assert newest(config) == first
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 15

    lab.hbase.compact(config.sink.hbase.table)
    assert shown(lab, config) == then
    lab.finish(config)
    assert shown(lab, config) == now, "what is read again is not hidden by what was undone"
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0

    back = look(lab, config, savepoint)
    back.apply(COMMAND)
    assert shown(lab, config) == then
    lab.finish(config)
    assert shown(lab, config) == now
    what_is_lost_is_said(lab, config, topic)


def what_is_lost_is_said(lab: Lab, config: Config, topic: str) -> None:
    boundary, before = newest(config), shown(lab, config)
    lab.produce(topic, *(record(5, 1000 + n) for n in range(3)))
    for n in range(4):  # each in a checkpoint of its own, so that none is folded away
        lab.produce(topic, record(1, 1000 + n))
        lab.finish(config)
    lab.hbase.compact(config.sink.hbase.table)
    found = look(lab, config, f"checkpoint:{boundary}")
    assert found.table is not None
    assert found.table.found.lost == 1
    assert found.table.found.examples == ("k01 d:n",)
    found.apply(COMMAND)
    left = shown(lab, config)
    assert left.pop(b"k01") == {b"n": b"1003"}, "what is lost stays as it is"
    before.pop(b"k01")
    assert left == before


def test_aggregates_go_back_with_their_state(lab: Lab) -> None:
    topic = lab.topic(*(record(n % 4, n) for n in range(12)), partitions=2)
    config = config_of(lab, topic, table_of_versions(lab, 5), lab.folder("checkpoint"), version="checkpoint")
    lab.finish(config)
    first, then = newest(config), shown(lab, config)
    lab.produce(topic, *(record(n % 6, n) for n in range(12, 30)))
    lab.finish(config)
    now = shown(lab, config)
    found = look(lab, config, f"checkpoint:{first}")
    assert found.table is not None
    assert (found.table.found.restored, found.table.found.removed) == (4, 2)
    found.apply(COMMAND)
    assert shown(lab, config) == then
    lab.finish(config)
    assert shown(lab, config) == now
    recorded = versions.recorded(LocalStore(Path(config.checkpointing.dir)))
    assert recorded is not None
    assert recorded.generation == 2


def test_a_table_of_one_version_is_refused_and_replayed_instead(lab: Lab) -> None:
    topic = lab.topic(*(record(n, n) for n in range(4)), partitions=2)
    config = config_of(lab, topic, lab.table("d"), lab.folder("checkpoint"))
    lab.finish(config)
    first = newest(config)
    lab.produce(topic, *(record(n, 100 + n) for n in range(4)))
    lab.finish(config)
    now = shown(lab, config)
    with pytest.raises(PreflightError, match="keeps 1 version"):
        look(lab, config, f"checkpoint:{first}")
    inspect(lab.spec(config), f"checkpoint:{first}", keep_table=True).apply(COMMAND)
    assert newest(config) == first
    assert shown(lab, config) == now
    lab.finish(config)
    assert shown(lab, config) == now
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0
