"""What went wrong in Flink's HBase sink, filed or read in its code, must not happen here: one test for each.

Beside these, in Java: MutationSenderTest has the flush contract without a server (rows, bytes, time, until nothing
is pending, nothing after a failure, an abort or a close), HBaseWriteExceptionTest what is fatal, MutationBufferTest the
folds.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from tests.system.lab import Lab, Run, Running, Sent, no_trace, visible, wait_until

from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config
from milepost.errors import ConfigError, PreflightError
from milepost.job.status import JobStatus
from milepost.services import Services
from milepost.verify import verify_pipeline

SCHEMA = "id STRING, a STRING, b STRING, op STRING"


def stream(*documents: dict[str, Any]) -> list[Sent]:
    return [Sent(json.dumps({"op": "u"} | each).encode(), b"k") for each in documents]


def job(lab: Lab, topic: str, table: str, **sections: Any) -> Config:
    sink = {"columns": {"d": ["a", "b"]}, "op": "op"} | sections.pop("sink", {})
    source = {"format": "json", "schema": SCHEMA} | sections.pop("source", {})
    return lab.config(topic, table, source=source, sink=sink, **sections)


def done(lab: Lab, config: Config) -> int | None:
    """Return the first offset that no completed checkpoint has."""
    completed = newest_completed(LocalStore(Path(config.checkpointing.dir)))
    return None if completed is None else next(iter(completed.sources[0].values()))[0]


# ---- one changelog, written record by record and in one flush ----

CHANGES: list[dict[str, Any]] = [
    {"id": "28910", "a": "1"},
    {"id": "28910", "op": "d"},
    {"id": "28910", "a": "2"},
    {"id": "32139", "a": "1", "b": "1"},
    {"id": "32139", "a": "2", "b": "2"},
    {"id": "32139", "op": "d"},
    {"id": "33164", "a": "1", "b": "1"},
    {"id": "33164", "a": None, "b": "2"},
    {"id": "33566", "a": "1", "b": "1"},
    {"id": "33566", "op": "d"},
    {"id": "33566", "a": "2"},
    {"id": "parts", "a": "1"},
    {"id": "parts", "b": "2"},
    {"id": "", "a": "no key"},
]


class Written(NamedTuple):
    """What a run has left: what a plain client sees, and the records that were rejected."""

    rows: dict[bytes, dict[bytes, bytes]]
    rejected: dict[str, int]


@pytest.fixture(scope="module", params=[1, 1000], ids=["a flush each", "one flush"])
def written(lab: Lab, request: pytest.FixtureRequest) -> Written:
    """Run the changelog into a table of three versions, where a delete of the newest alone would show an older one."""
    name, client = lab.name("changes"), lab.hbase.jvm.org.apache.hadoop.hbase.client
    family = client.ColumnFamilyDescriptorBuilder.newBuilder(b"d").setMaxVersions(3).build()
    table = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(name)
    lab.hbase.connection.getAdmin().createTable(
        client.TableDescriptorBuilder.newBuilder(table).setColumnFamily(family).build()
    )
    config = job(
        lab,
        lab.topic(*stream(*CHANGES)),
        name,
        source={"bad-records": "skip"},
        sink={"flush": {"rows": request.param}},
    )
    rejected = dict(lab.finish(config).rejected)
    keys = {str(change["id"]).encode() for change in CHANGES if change["id"]}
    found = {key: lab.hbase.get(name, key) for key in keys}
    return Written(
        {key: {qualifier: value for (_, qualifier), value in row.items()} for key, row in found.items()},
        rejected,
    )


def test_a_put_after_a_delete_of_its_row_is_not_lost(written: Written) -> None:
    """FLINK-28910, FLINK-33304: of a delete and a put in one flush, the put was lost."""
    assert written.rows[b"28910"] == {b"a": b"2"}


def test_a_delete_removes_every_version(written: Written) -> None:
    """FLINK-32139: a delete of the newest version alone let the one before it show again."""
    assert written.rows[b"32139"] == {}


def test_a_null_does_not_overwrite(written: Written) -> None:
    """FLINK-33164, FLINK-30360: a null wrote over the column that had a value."""
    assert written.rows[b"33164"] == {b"a": b"1", b"b": b"2"}


def test_a_row_inserted_again_has_no_stale_columns(written: Written) -> None:
    """FLINK-33566, and the second of the defects that nobody filed: a partial put drops the delete before it."""
    assert written.rows[b"33566"] == {b"a": b"2"}


def test_partial_puts_of_one_flush_are_folded_by_column(written: Written) -> None:
    """Not filed, 2: of two partial puts in one flush only the last one's columns were kept."""
    assert written.rows[b"parts"] == {b"a": b"1", b"b": b"2"}


def test_an_empty_row_key_is_counted(written: Written) -> None:
    """Not filed, 4: a record with an empty row key was dropped, and no counter said so."""
    assert written.rejected == {"BAD_ROW_KEY": 1}


# ---- flushes ----


def test_everything_is_flushed_at_a_checkpoint_whatever_the_limits(lab: Lab) -> None:
    """Not filed, 1: with no limit of rows, what was buffered stayed in memory across the checkpoint."""
    table = lab.table("d")
    limits = {"rows": 1_000_000, "bytes": "100mb", "interval": "1h"}
    topic = lab.topic(*stream({"id": "k", "a": "1"}))
    lab.finish(job(lab, topic, table, sink={"flush": limits}))
    assert lab.hbase.get(table, b"k") == {(b"d", b"a"): b"1"}


def test_no_buffering_is_said_by_one_row_and_zero_is_refused(lab: Lab) -> None:
    """FLINK-36188: a limit of 0 meant `no buffering`, and nothing was flushed."""
    for key in ("rows", "interval", "bytes"):
        with pytest.raises(ConfigError, match=rf"flush\.{key}"):
            job(lab, "any", "any", sink={"flush": {key: 0}})


def test_a_single_record_of_a_quiet_stream_shows_after_the_flush_interval(lab: Lab) -> None:
    """FLINK-36188 and the flush by time: nothing else comes, and the checkpoint is far away."""
    topic, table = lab.topic(), lab.table("d")
    config = job(
        lab,
        topic,
        table,
        source={"stop": "never"},
        sink={"flush": {"interval": "200ms"}},
        checkpointing={"execution": "real-time", "interval": "5s"},
    )
    with lab.running(config) as running:
        wait_until(lambda: running.job.progress().checkpoint_id is not None, "the first checkpoint")
        began, first = time.monotonic(), done(lab, config)
        lab.produce(topic, *stream({"id": "k", "a": "1"}))
        wait_until(lambda: lab.hbase.get(table, b"k") != {}, "the record shows", 5)
        seconds = time.monotonic() - began
    assert first in (None, 0)
    assert seconds < 3.5, "it came with the checkpoint, not with the interval"


# ---- failures ----

FLUSH = 1000
RECORDS = 2 * FLUSH + 500
REFUSED = 150
YEAR_2100 = 4_102_444_800_000
SLOP = "hbase.hregion.keyvalue.timestamp.slop.millisecs"


def test_an_early_flush_that_failed_fails_the_checkpoint(lab: Lab) -> None:
    """FLINK-29971, and F18: one put of a thousand fails in a flush long before the snapshot; the rest are fine."""
    hbase = lab.hbase.jvm.org.apache.hadoop.hbase
    name, admin = hbase.TableName.valueOf(lab.name("picky")), lab.hbase.connection.getAdmin()
    plain = hbase.client.TableDescriptorBuilder.newBuilder(name).setColumnFamily(
        hbase.client.ColumnFamilyDescriptorBuilder.of("d")
    )
    # This table refuses, for good, a cell whose timestamp is too far ahead; Milepost does not know.
    admin.createTable(plain.setValue(SLOP, "60000").build())
    documents = [
        {"id": f"k{number}", "n": YEAR_2100 if number == REFUSED else number} for number in range(RECORDS)
    ]
    topic = lab.topic(*(Sent(json.dumps(each).encode(), b"k") for each in documents))
    config = lab.config(
        topic,
        name.getNameAsString(),
        source={"format": "json", "schema": "id STRING, n BIGINT"},
        sink={
            "columns": {"d": ["n"]},
            "version": {"column": "n"},
            "flush": {"rows": FLUSH, "interval": "1m"},
        },
    )
    run: Run = lab.run_bounded(config)
    assert run.status is JobStatus.FAILED
    assert done(lab, config) is None
    assert f"1 of {FLUSH} mutations were not confirmed" in str(run.error)
    assert config.sink.hbase.table in str(run.error)
    assert "row#" in str(run.error)
    assert no_trace(str(run.error))
    last = f"k{RECORDS - 1}".encode()
    assert lab.hbase.get(config.sink.hbase.table, last) == {}, "a poisoned writer sent more"
    admin.modifyTable(plain.removeValue(SLOP.encode()).build())
    assert lab.finish(config).rows == RECORDS
    assert len(visible(lab.cells(config))) == RECORDS


def test_a_missing_table_is_told_before_anything_starts(lab: Lab) -> None:
    """FLINK-33206, and not filed, 5: the sink opened its table without looking whether it is there."""
    config = job(lab, lab.topic(), "no-such-table")
    with pytest.raises(PreflightError, match="'no-such-table' does not exist"):
        lab.start(config)
    assert list(Path(config.checkpointing.dir).iterdir()) == []


class Outage(NamedTuple):
    """What a job lived through whose table was away."""

    config: Config
    told_after: float
    restarts: int


@pytest.fixture(scope="module")
def outage(lab: Lab) -> Outage:
    """Take the table away under a running job, until the job has failed of it, and give it back."""
    topic, table = lab.topic(*stream({"id": "first", "a": "1"})), lab.table("d")
    config = job(
        lab,
        topic,
        table,
        source={"stop": "never"},
        sink={"properties": {"hbase.client.retries.number": 1, "hbase.client.pause": 10}},
        checkpointing={"timeout": "4s"},
        restart={"strategy": "fixed-delay", "attempts": 50, "delay": "300ms"},
    )
    admin, name = (
        lab.hbase.connection.getAdmin(),
        lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(table),
    )
    with lab.running(config) as running:
        wait_until(lambda: done(lab, config) == 1, "the first record")
        admin.disableTable(name)
        began = time.monotonic()
        lab.produce(topic, *stream(*({"id": f"k{number}", "a": "1"} for number in range(20))))
        wait_until(lambda: running.job.status is JobStatus.RESTARTING, "the job fails of it")
        told_after = time.monotonic() - began
        admin.enableTable(name)
        wait_until(lambda: done(lab, config) == 21, "the records of the outage")
        return Outage(config, told_after, running.job.restarts)


def test_a_client_that_hardly_retries_loses_nothing(lab: Lab, outage: Outage) -> None:
    """FLINK-19635, and not filed, 6: with one retry the task failed and data was lost; nobody looked afterwards."""
    assert outage.restarts >= 1
    report = verify_pipeline(outage.config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0
    assert report.rows == 21


def test_an_error_that_nobody_knows_is_not_retried_for_ever(outage: Outage) -> None:
    """Review of PR 57: what was not recognised as fatal was sent again without an end."""
    assert timedelta(seconds=outage.told_after) < outage.config.checkpointing.timeout * 2


@contextmanager
def held(process: psutil.Process) -> Iterator[None]:
    """Let a process stand still for the block."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def live(lab: Lab, **sink: Any) -> Config:
    """Return a job without an end whose first record is in the topic."""
    topic = lab.topic(*stream({"id": "first", "a": "1"}))
    checkpointing = {"timeout": "25s"}
    return job(lab, topic, lab.table("d"), source={"stop": "never"}, sink=sink, checkpointing=checkpointing)


def send(lab: Lab, config: Config, running: Running, *documents: dict[str, Any]) -> None:
    """Send records and wait until a checkpoint has them."""
    (topic,) = config.views["source"].topics or ()
    before = done(lab, config) or 0
    lab.produce(topic, *stream(*documents))
    wait_until(lambda: done(lab, config) == before + len(documents), f"{len(documents)} more records")
    assert running.job.restarts == 0


def test_a_request_that_lands_after_its_repetition_changes_nothing(
    lab: Lab, running_services: Services
) -> None:
    """Not filed, 3, and F14: a batch is sent again after the time-out while the first may still run."""
    impatient = {"hbase.rpc.timeout": 700, "hbase.rpc.write.timeout": 700, "hbase.client.pause": 20}
    config = live(lab, properties=impatient)
    server = next(
        psutil.Process(each.pid) for each in running_services.status() if each.name == "hbase" and each.pid
    )
    keys = [f"k{number}" for number in range(10)]
    with lab.running(config) as running:
        wait_until(lambda: done(lab, config) == 1, "the first record")
        written = lab.hbase.write_requests(config.sink.hbase.table)
        with held(server):
            (topic,) = config.views["source"].topics or ()
            lab.produce(topic, *stream(*({"id": key, "a": "old"} for key in keys)))
            threading.Event().wait(3)  # the fault itself: several requests go out and time out meanwhile
        wait_until(lambda: done(lab, config) == 1 + len(keys), "the records of the fault")
        send(lab, config, running, *({"id": key, "op": "d"} for key in keys[:5]))
        send(lab, config, running, *({"id": key, "a": "new"} for key in keys[3:]))
        assert running.job.restarts == 0
    # More than each mutation once: requests that had timed out were carried out after all.
    once = len(keys) + 5 + len(keys[3:])
    assert lab.hbase.write_requests(config.sink.hbase.table) - written > once
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0


def test_regions_that_move_split_and_come_back_are_followed(lab: Lab) -> None:
    """FLINK-37212: after a region had moved, the client could not load the exception that says so."""
    config = live(lab, properties={"hbase.client.pause": 20})
    table = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(config.sink.hbase.table)
    admin = lab.hbase.connection.getAdmin()

    def region() -> Any:
        return admin.getRegions(table).get(0)

    with lab.running(config) as running:
        wait_until(lambda: done(lab, config) == 1, "the first record")
        for number in range(2):
            closed = region()
            admin.unassign(closed.getRegionName())
            back = threading.Timer(0.3, admin.assign, [closed.getRegionName()])
            back.start()
            send(lab, config, running, *({"id": f"move-{number}-{n}", "a": "1"} for n in range(20)))
            back.join()
        admin.split(table, b"m")
        send(lab, config, running, *({"id": f"{letter}-split", "a": "1"} for letter in "akmz"))
        wait_until(lambda: admin.getRegions(table).size() == 2, "the split")
        send(lab, config, running, *({"id": f"{letter}-after", "a": "1"} for letter in "akmz"))
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0
    assert report.rows == 1 + 40 + 8
