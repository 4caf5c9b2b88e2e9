"""Tables that cannot take the rows (B22, B23, B30): refused by name before the start, FAILED at once while running."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.system.lab import Lab, Sent, no_trace, wait_until

from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config
from milepost.errors import NotReachableError, PreflightError
from milepost.job.prepare import prepare_job
from milepost.job.start import start_job
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job

SCHEMA = "id STRING, v STRING, n INT, parts ARRAY<INT>"


def record(key: str) -> Sent:
    return Sent(json.dumps({"id": key, "v": key}).encode(), key.encode())


@pytest.fixture(scope="module")
def topic(lab: Lab) -> str:
    return lab.topic(record("a"))


def job(lab: Lab, topic: str, table: str, stop: Any = "latest", **sink: Any) -> Config:
    return lab.config(
        topic,
        table,
        source={"format": "json", "schema": SCHEMA, "stop": stop},
        sink={"columns": {"d": ["v"]}} | sink,
        # HBase's client is told to try for four fifths of this.
        checkpointing={"timeout": "8s"},
    )


def admin(lab: Lab) -> Any:
    return lab.hbase.connection.getAdmin()


def named(lab: Lab, table: str) -> Any:
    return lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(table)


def drop(lab: Lab, table: str) -> None:
    admin(lab).disableTable(named(lab, table))
    admin(lab).deleteTable(named(lab, table))


def disable(lab: Lab, table: str) -> None:
    admin(lab).disableTable(named(lab, table))


def read_only_table(lab: Lab) -> str:
    client, name = lab.hbase.jvm.org.apache.hadoop.hbase.client, lab.name("read-only")
    builder = client.TableDescriptorBuilder.newBuilder(named(lab, name)).setReadOnly(True)
    admin(lab).createTable(builder.setColumnFamily(client.ColumnFamilyDescriptorBuilder.of("d")).build())
    return name


def expiring_table(lab: Lab) -> str:
    client, name = lab.hbase.jvm.org.apache.hadoop.hbase.client, lab.name("expiring")
    family = client.ColumnFamilyDescriptorBuilder.newBuilder(b"d").setTimeToLive(86400).build()
    builder = client.TableDescriptorBuilder.newBuilder(named(lab, name)).setColumnFamily(family)
    admin(lab).createTable(builder.build())
    return name


def disabled_table(lab: Lab) -> str:
    name = lab.table("d", prefix="disabled")
    disable(lab, name)
    return name


REFUSED: dict[str, tuple[Callable[[Lab], str], dict[str, Any], str]] = {
    "missing": (lambda lab: "no-such-table", {}, "does not exist"),
    "in no namespace": (lambda lab: "nowhere:orders", {}, "no namespace 'nowhere'"),
    "to be created in no namespace": (
        lambda lab: "nowhere:orders",
        {"create-table": {"regions": 1}},
        "no namespace 'nowhere'",
    ),
    "disabled": (disabled_table, {}, "is disabled"),
    "read-only": (read_only_table, {}, "is read-only"),
    "without the family": (lambda lab: lab.table("e"), {}, "no column family 'd'"),
    "with a TTL": (expiring_table, {}, "TTL 86400 s"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_table_that_cannot_be_written_is_refused_by_name(lab: Lab, topic: str, kind: str) -> None:
    make, sink, sentence = REFUSED[kind]
    table = make(lab)
    config = job(lab, topic, table, **sink)
    began = time.monotonic()
    with pytest.raises(PreflightError) as raised:
        lab.start(config)
    assert time.monotonic() - began < 10
    assert sentence in raised.value.what
    assert table in raised.value.what
    assert raised.value.fix
    assert raised.value.exit_code == 2
    assert list(Path(config.checkpointing.dir).iterdir()) == []


def test_a_misspelled_table_is_guessed(lab: Lab, topic: str) -> None:
    table = lab.table("d", prefix="invoices")
    with pytest.raises(PreflightError, match=f"Did you mean '{table}'"):
        lab.start(job(lab, topic, table[:-1] + "x"))


def test_a_ttl_is_fine_where_versions_are_times(lab: Lab, topic: str) -> None:
    progress = lab.finish(job(lab, topic, expiring_table(lab), version="timestamp"))
    assert progress.totals["puts"] == 1


def test_an_hbase_that_does_not_answer_is_named_in_time(lab: Lab, topic: str) -> None:
    began = time.monotonic()
    with pytest.raises(NotReachableError, match=r"127\.0\.0\.1:1 does not answer") as raised:
        lab.start(job(lab, topic, "any", quorum="127.0.0.1:1"))
    assert time.monotonic() - began < 15
    assert raised.value.exit_code == 3


MAPPINGS: dict[str, tuple[dict[str, Any], str]] = {
    "an array in native encoding": ({"columns": {"d": ["parts"]}}, "ARRAY<INT>"),
    "an array as row key": ({"row-key": ["parts"]}, "cannot be part of the row key"),
    "an operation that is a number": ({"op": "n"}, "Operation column 'n' is INT"),
    "a version that is a text": ({"version": {"column": "v"}}, "Version column 'v' is STRING"),
    "a column that is not there": ({"columns": {"d": ["nope"]}}, "'nope'"),
    "a row key that is not there": ({"row-key": ["nope"]}, "'nope'"),
}


@pytest.mark.parametrize("kind", MAPPINGS)
def test_a_mapping_that_no_row_fits_is_refused(lab: Lab, topic: str, kind: str) -> None:
    sink, sentence = MAPPINGS[kind]
    config = job(lab, topic, lab.table("d"), **sink)
    with pytest.raises(PreflightError, match=sentence):
        lab.start(config)
    assert list(Path(config.checkpointing.dir).iterdir()) == []


def test_a_table_is_created_with_its_regions(lab: Lab, topic: str) -> None:
    table = lab.name("created")
    lab.finish(job(lab, topic, table, **{"create-table": {"regions": 3}}))
    assert admin(lab).getRegions(named(lab, table)).size() == 3
    assert lab.hbase.count(table) == 1


# ---- while the job runs ----


def running(lab: Lab) -> tuple[Config, str, Job]:
    """Return a job that has completed its first record and waits for more."""
    topic = lab.topic(record("a"))
    config = job(lab, topic, lab.table("d", "spare"), stop="never")
    started = lab.start(config)
    wait_until(lambda: started.progress().position.get(topic) == {0: 1}, "the first record is completed")
    return config, topic, started


def remove_family(lab: Lab, table: str) -> None:
    admin(lab).deleteColumnFamily(named(lab, table), b"d")


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        pytest.param(remove_family, "NoSuchColumnFamilyException", id="family removed"),
        pytest.param(drop, "TableNotFoundException", id="table dropped"),
    ],
)
def test_a_table_that_breaks_while_the_job_runs_fails_it_at_once(
    lab: Lab, harm: Callable[[Lab, str], None], sentence: str
) -> None:
    config, topic, started = running(lab)
    table = config.sink.hbase.table
    harm(lab, table)
    lab.produce(topic, record("b"))
    began = time.monotonic()
    status = started.wait()
    assert time.monotonic() - began < 6  # fifteen retries of HBase's client would be minutes
    assert status is JobStatus.FAILED
    assert table in str(started.error)
    assert sentence in str(started.error)
    assert "MILEPOST" not in str(started.error)
    assert no_trace(str(started.error))
    completed = newest_completed(LocalStore(Path(config.checkpointing.dir)))
    assert completed is not None
    assert completed.sources[0] == {topic: {0: 1}}


def test_a_table_that_comes_back_gets_what_it_missed(lab: Lab) -> None:
    config, topic, started = running(lab)
    table = named(lab, config.sink.hbase.table)
    disable(lab, config.sink.hbase.table)
    lab.produce(topic, record("b"), record("c"))
    # A disabled table may come back, so it is waited for until the time is up.
    assert started.wait() is JobStatus.FAILED
    assert "2 of 2 mutations were not confirmed" in str(started.error)
    assert no_trace(str(started.error))
    admin(lab).enableTable(table)
    bounded = job(lab, topic, config.sink.hbase.table)
    again = bounded.model_copy(update={"checkpointing": config.checkpointing})
    assert lab.finish(again).rows == 2
    assert [(cell[0], cell[3]) for cell in lab.cells(again)] == [(b"a", 0), (b"b", 1), (b"c", 2)]


def test_a_table_that_drops_delete_markers_is_reported_at_the_first_start_alone(lab: Lab, topic: str) -> None:
    table = lab.table("d")
    config = job(lab, topic, table)
    first = prepare_job(lab.spec(config))
    assert [table in warning for warning in first.plan.new_warnings] == [True]
    assert start_job(first).wait() is JobStatus.FINISHED
    for _ in range(2):
        later = prepare_job(lab.spec(config))
        assert (later.plan.warnings, later.plan.new_warnings) == (first.plan.warnings, ())
        assert start_job(later).wait() is JobStatus.FINISHED
