"""The checker against a real log and a real table: a faithful one passes, each corruption is found."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from tests.hbase_client import HBaseClient
from tests.unit.verify.faithful import delete, table, tombstone, upsert

from milepost.config import Config
from milepost.demo.producer import create_topic
from milepost.services import Endpoints
from milepost.verify import Kind, Report, verify_pipeline
from milepost.verify.compare import Cell
from milepost.verify.encoding import java_double, same_number, value_encoder
from milepost.verify.log import read, take_spans
from milepost.verify.oracle import Record
from milepost.verify.schema import parse_schema
from milepost.verify.table import raw_cells

SERVER_TIME = 1_790_000_000_000
PARTITIONS = 2

LOG = [
    upsert(0, "ann", "first", 1),
    upsert(1, "ann", "second", 2),
    upsert(2, "bob", "deleted", 3),
    delete(3, "bob"),
    upsert(4, "cyd", "deleted and back", 4),
    tombstone(5, "cyd"),
    upsert(6, "cyd", "back", 5),
    upsert(0, "dan", "other partition", 6, partition=1),
    upsert(1, "dan", None, 7, partition=1),
]


@pytest.fixture(scope="module")
def topic(services: Endpoints) -> str:
    """A topic with the log above; offsets are those of the records because nothing else writes to it."""
    name = f"checker-{uuid.uuid4().hex[:8]}"
    create_topic(services.bootstrap_servers, name, PARTITIONS)
    produce(services, name, LOG)
    return name


class Pipeline:
    """One table, and the pipeline that is supposed to have filled it."""

    def __init__(
        self, services: Endpoints, hbase: HBaseClient, spark: SparkSession, topic: str, folder: Path
    ) -> None:
        self.name = f"checker-{uuid.uuid4().hex[:8]}"
        self.hbase = hbase
        self.spark = spark
        self.quorum = services.quorum
        self.client: Any = hbase.jvm.org.apache.hadoop.hbase.client
        hbase.create_table(self.name, "d")
        source = {
            "bootstrap-servers": services.bootstrap_servers,
            "topics": [topic],
            "format": "json",
            "schema": "id STRING, customer STRING, amount BIGINT, op STRING",
        }
        sink = {
            "quorum": services.quorum,
            "table": self.name,
            "row-key": ["id"],
            "columns": {"d": ["customer", "amount"]},
            "op": "op",
        }
        self.config = Config(
            name="checker",
            source={"kafka": source},
            sink={"hbase": sink},
            checkpointing={"dir": str(folder)},
        )

    def write(self, cells: list[Cell]) -> None:
        connection: Any = self.hbase.connection
        handle = connection.getTable(self.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(self.name))
        for cell in cells:
            if cell.type == "Put":
                put = self.client.Put(cell.row)
                put.addColumn(cell.family.encode(), cell.qualifier, cell.version, cell.value)
                handle.put(put)
            else:
                marker = self.client.Delete(cell.row)
                add = {
                    "DeleteFamily": lambda d, c: d.addFamily(c.family.encode(), c.version),
                    "DeleteColumn": lambda d, c: d.addColumns(c.family.encode(), c.qualifier, c.version),
                    "Delete": lambda d, c: d.addColumn(c.family.encode(), c.qualifier, c.version),
                }[cell.type]
                add(marker, cell)
                handle.delete(marker)
        handle.close()

    def compact(self, gone: Callable[[list[Any]], bool]) -> None:
        """Let HBase forget what is deleted, and return once it has."""
        admin = self.hbase.connection.getAdmin()
        name = self.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(self.name)
        admin.flush(name)
        admin.majorCompact(name)
        deadline, pause = time.monotonic() + 60, threading.Event()
        while not gone(list(raw_cells(self.spark, {"quorum": self.quorum, "table": self.name}))):
            assert time.monotonic() < deadline, "HBase did not compact the table"
            pause.wait(0.2)
        admin.close()

    def verify(self) -> Report:
        return verify_pipeline(self.config, self.spark, at="end")


@pytest.fixture
def pipeline(
    services: Endpoints, hbase: HBaseClient, spark: SparkSession, topic: str, tmp_path: Path
) -> Pipeline:
    return Pipeline(services, hbase, spark, topic, tmp_path)


def produce(services: Endpoints, topic: str, records: list[Record], **settings: Any) -> None:
    producer = Producer(
        {"bootstrap.servers": services.bootstrap_servers, "enable.idempotence": True, **settings}
    )
    for record in records:
        producer.produce(topic, value=record.value, key=record.key, partition=record.partition)
    assert producer.flush(30) == 0


def put(row: bytes, qualifier: bytes, version: int, value: bytes) -> Cell:
    return Cell(row, "d", qualifier, version, "Put", value)


def test_a_faithful_table_is_verified(pipeline: Pipeline) -> None:
    pipeline.write(table(LOG))
    report = pipeline.verify()
    assert report.lines()[-1] == f"VERIFIED records={len(LOG)} missing=0 extra=0 stale=0 duplicates=0"
    assert report.cells == len(table(LOG))


def test_a_replay_changes_nothing(pipeline: Pipeline) -> None:
    for _ in range(3):
        pipeline.write(table(LOG))
    assert pipeline.verify().is_verified


def test_a_compacted_table_is_verified(pipeline: Pipeline) -> None:
    pipeline.write(table(LOG))
    pipeline.compact(lambda cells: all(cell[4] == "Put" for cell in cells))
    assert pipeline.verify().is_verified


def test_a_lost_write_is_found(pipeline: Pipeline) -> None:
    pipeline.write([c for c in table(LOG) if c.row != b"dan"])
    report = pipeline.verify()
    assert report.counts == {Kind.MISSING: 2}
    assert report.line == f"DIFFERENCES records={len(LOG)} missing=2 extra=0 stale=0 duplicates=0"


def test_a_row_deleted_by_hand_is_found(pipeline: Pipeline) -> None:
    pipeline.write([*table(LOG), Cell(b"dan", "d", b"", SERVER_TIME, "DeleteFamily", b"")])
    assert pipeline.verify().counts == {Kind.MISSING: 2, Kind.ALIEN_VERSION: 1}


def test_a_write_with_server_time_is_a_duplicate(pipeline: Pipeline) -> None:
    pipeline.write([*table(LOG), put(b"ann", b"customer", SERVER_TIME, b"second")])
    report = pipeline.verify()
    assert report.counts == {Kind.ALIEN_VERSION: 1}
    assert "duplicates=1" in report.line


def test_a_stale_value_is_found(pipeline: Pipeline) -> None:
    pipeline.write([c for c in table(LOG) if not (c.row == b"ann" and c.version == 1)])
    assert pipeline.verify().counts == {Kind.STALE: 2}


def test_a_newest_version_taken_away_by_hand_is_found(pipeline: Pipeline) -> None:
    pipeline.write(table(LOG))
    pipeline.write([Cell(b"ann", "d", b"customer", 1, "Delete", b"")])
    assert pipeline.verify().counts == {Kind.STALE: 1, Kind.ALIEN_VERSION: 1}


def test_a_zombie_that_writes_after_a_compaction_resurrects_a_row(pipeline: Pipeline) -> None:
    pipeline.write(table(LOG))
    pipeline.compact(lambda cells: all(cell[0] != b"bob" for cell in cells))
    pipeline.write([c for c in table(LOG) if c.row == b"bob" and c.type == "Put"])
    assert pipeline.verify().counts == {Kind.RESURRECTED: 2}


def test_a_delete_that_never_arrived_resurrects_a_row(pipeline: Pipeline) -> None:
    pipeline.write([c for c in table(LOG) if not (c.row == b"bob" and c.type == "DeleteFamily")])
    assert pipeline.verify().counts == {Kind.RESURRECTED: 2}


def test_a_changed_value_is_found(pipeline: Pipeline) -> None:
    pipeline.write([*table(LOG), put(b"ann", b"customer", 1, b"another")])
    report = pipeline.verify()
    assert report.counts == {Kind.WRONG_VALUE: 1}
    assert "table 'another' @ 1" in "\n".join(report.lines())


def test_a_row_that_no_record_wrote_is_found(pipeline: Pipeline) -> None:
    pipeline.write([*table(LOG), put(b"eve", b"customer", 3, b"eve")])
    assert pipeline.verify().counts == {Kind.EXTRA: 1}


def test_the_command_exits_4_with_examples_and_the_line_that_scripts_read(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    pipeline.write([c for c in table(LOG) if c.row != b"dan"])
    file = tmp_path / "pipeline.yaml"
    file.write_text(yaml.safe_dump(pipeline.config.redacted()))
    result = subprocess.run(
        [sys.executable, "-m", "milepost", "verify", str(file), "--at", "end"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 4
    assert result.stdout.splitlines()[-1] == "DIFFERENCES records=9 missing=2 extra=0 stale=0 duplicates=0"
    assert "MISSING row 'dan' d:customer" in result.stdout
    assert "Traceback" not in result.stderr


def test_aborted_records_and_control_records_are_not_visible(services: Endpoints) -> None:
    name = f"checker-{uuid.uuid4().hex[:8]}"
    create_topic(services.bootstrap_servers, name, 1)
    settings = {"bootstrap.servers": services.bootstrap_servers, "transactional.id": name}
    producer = Producer(settings)
    producer.init_transactions(30)
    for value, keep in ((b"kept", True), (b"aborted", False), (b"also kept", True)):
        producer.begin_transaction()
        producer.produce(name, value=value)
        if keep:
            producer.commit_transaction(30)
        else:
            producer.flush(30)
            producer.abort_transaction(30)
    client = {"bootstrap.servers": services.bootstrap_servers}
    spans = take_spans(client, [name])
    records = list(read(client, spans))
    assert [record.value for record in records] == [b"kept", b"also kept"]
    assert [record.offset for record in records] == [0, 4]
    assert spans[0].end == 6


def test_a_compacted_topic_and_a_pattern_are_seen(services: Endpoints, topic: str) -> None:
    client = {"bootstrap.servers": services.bootstrap_servers}
    assert {span.topic for span in take_spans(client, ["^checker-.*"])} >= {topic}
    assert all(span.compacted for span in take_spans(client, ["__consumer_offsets"]))
    assert not any(span.compacted for span in take_spans(client, [topic]))


def test_native_encodings_are_those_of_hbase(hbase: HBaseClient) -> None:
    java: Any = hbase.jvm
    to_bytes = java.org.apache.hadoop.hbase.util.Bytes.toBytes
    schema = {f.name: f.type for f in parse_schema("d DOUBLE, l BIGINT, b BOOLEAN, n DECIMAL(20,3)")}
    for number in (0.0, -1.5, 1e300, 0.1):
        assert value_encoder(schema["d"], "native")(number) == bytes(
            to_bytes(java.double(number) if False else number)
        )
    for flag in (True, False):
        assert value_encoder(schema["b"], "native")(flag) == bytes(to_bytes(flag))
    for text in ("0.000", "-0.001", "12345678901234567.890", "-128.000", "0.128"):
        assert value_encoder(schema["n"], "native")(Decimal(text)) == bytes(
            to_bytes(java.java.math.BigDecimal(text))
        )


def test_numbers_are_written_as_java_writes_them(hbase: HBaseClient) -> None:
    to_string = hbase.jvm.java.lang.Double.toString
    for number in (1.0, 1e7, 9999999.999, 0.001, 1e-4, 123456789.123, 1e21, 5e-324, 2e-3, 4.35):
        assert same_number(java_double(number).encode(), to_string(number).encode())
        assert ("E" in java_double(number)) == ("E" in to_string(number))
