"""What every system test does: makes topics and tables, sends exact bytes, runs a job to its end, looks."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from pyspark.sql import Row, SparkSession
from tests.hbase_client import HBaseClient
from tests.waiting import PATIENCE_S as PATIENCE_S
from tests.waiting import wait_until as wait_until

from milepost.api import RunningPipeline
from milepost.checkpoint.participants.chains import Participants
from milepost.config import Config
from milepost.errors import MilepostError
from milepost.job.monitoring.progress import Progress
from milepost.job.prepare import prepare_job, recover_from_damage
from milepost.job.spark.session import session, spark_conf
from milepost.job.spark.settings import session_settings, share_modules
from milepost.job.spec import JobSpec, StartOptions
from milepost.job.start import start_job
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job
from milepost.services import Endpoints
from milepost.sink.hbase import connection_options, mapping_options
from milepost.transform import Transformation
from milepost.verify.compare import RawCell
from milepost.verify.table import raw_cells


class Sent(NamedTuple):
    """A record as a producer sends it; offsets follow from the order."""

    value: bytes | None
    key: bytes | None = None
    partition: int = 0
    timestamp: int = 0


class Run(NamedTuple):
    """How a bounded run ended."""

    status: JobStatus
    progress: Progress
    error: MilepostError | None


class Running(NamedTuple):
    """A job that a thread drives: its inside, and the face that a user has of it."""

    job: Job
    pipeline: RunningPipeline


@dataclass(frozen=True)
class Letter:
    """A dead letter: the original bytes, and what its headers say."""

    key: bytes | None
    value: bytes | None
    headers: Mapping[str, str]

    @property
    def origin(self) -> tuple[str, int, int]:
        headers = self.headers
        return headers["milepost.topic"], int(headers["milepost.partition"]), int(headers["milepost.offset"])

    @property
    def reason(self) -> str:
        return self.headers["milepost.reason"]

    @property
    def detail(self) -> str:
        return self.headers["milepost.detail"]


@dataclass
class Lab:
    """One Spark session, one Kafka and one HBase for all tests; each test has topics and tables of its own."""

    services: Endpoints
    hbase: HBaseClient
    spark: SparkSession
    root: Path
    _names: Iterator[int] = field(default_factory=lambda: iter(range(1, 1_000_000)))

    def name(self, prefix: str) -> str:
        return f"{prefix}-{uuid.uuid4().hex[:6]}-{next(self._names)}"

    def folder(self, prefix: str = "run") -> Path:
        path = self.root / self.name(prefix)
        path.mkdir()
        return path

    # ---- Kafka ----

    @property
    def kafka(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.services.bootstrap_servers, "log_level": 2}

    def topic(self, *records: Sent, partitions: int = 1, prefix: str = "t", **config: str) -> str:
        """Create a topic with these records in it; `max_message_bytes` stands for max.message.bytes."""
        name = self.name(prefix)
        self.create_topic(name, partitions, **config)
        self.produce(name, *records)
        return name

    def create_topic(self, name: str, partitions: int = 1, **config: str) -> None:
        settings = {key.replace("_", "."): value for key, value in config.items()}
        new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)
        admin = AdminClient(self.kafka)  # must outlive its answer
        admin.create_topics([new])[name].result(timeout=PATIENCE_S)
        # The controller has it; what is asked next is the broker, which hears of it a moment later.
        wait_until(lambda: _is_served(admin, name, partitions), f"the broker knows topic {name}")

    def produce(self, topic: str, *records: Sent) -> None:
        refused: list[Any] = []
        producer = Producer(
            self.kafka
            | {
                "enable.idempotence": True,
                "message.max.bytes": 20 << 20,
                "queue.buffering.max.kbytes": 1 << 17,
            }
        )
        for record in records:
            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                partition=record.partition,
                timestamp=record.timestamp,
                on_delivery=lambda error, _: refused.append(error) if error else None,
            )
            producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0
        assert refused == []

    def letters(self, topic: str) -> list[Letter]:
        """Return every dead letter in the topic."""
        consumer = Consumer(
            self.kafka | {"group.id": self.name("letters"), "fetch.message.max.bytes": 20 << 20}
        )
        try:
            partition = TopicPartition(topic, 0, 0)
            _, end = consumer.get_watermark_offsets(partition, timeout=PATIENCE_S)
            consumer.assign([partition])
            found: list[Letter] = []
            deadline = time.monotonic() + PATIENCE_S
            while len(found) < end:
                assert time.monotonic() < deadline, f"{len(found)} of {end} dead letters could be read"
                message = consumer.poll(1.0)
                if message is not None and not message.error():
                    pairs: Any = message.headers() or ()
                    headers = {name: text.decode() for name, text in pairs}
                    found.append(Letter(message.key(), message.value(), headers))
            return found
        finally:
            consumer.close()

    # ---- HBase ----

    def table(self, *families: str, prefix: str = "t") -> str:
        name = self.name(prefix)
        self.hbase.create_table(name, *(families or ("d",)))
        return name

    def cells(self, config: Config) -> list[RawCell]:
        """Return every version and every delete marker in the job's table."""
        return list(raw_cells(self.spark, connection_options(config.sink.hbase)))

    def rows(self, config: Config, schema: str) -> list[Row]:
        """Return the table's rows as `spark.read` gives them to a user."""
        reader = self.spark.read.format("milepost-hbase").schema(schema)
        return reader.options(**mapping_options(config.sink.hbase)).load().collect()

    # ---- jobs ----

    def config(self, topic: str, table: str, **sections: Any) -> Config:
        """Return a job from the topic into the table that ends at the topic's end; see `document` for the keys."""
        return Config(**self.document(topic, table, **sections))

    def document(
        self,
        topic: str,
        table: str,
        *,
        source: Mapping[str, Any] | None = None,
        sink: Mapping[str, Any] | None = None,
        checkpointing: Mapping[str, Any] | None = None,
        sql: str | None = None,
        restart: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return what `config` is made of, for tests that write it to a file."""
        kafka = {"bootstrap-servers": self.services.bootstrap_servers, "topics": [topic], "stop": "latest"}
        hbase = {"quorum": self.services.quorum, "table": table, "row-key": ["id"]}
        spine = {"interval": "0s", "timeout": "60s"}
        if "dir" not in (checkpointing or {}):
            spine["dir"] = str(self.folder("checkpoint"))
        document: dict[str, Any] = {
            "name": "lab",
            "source": {"kafka": _without_none(kafka | dict(source or {}))},
            "sink": {"hbase": hbase | dict(sink or {})},
            "checkpointing": spine | dict(checkpointing or {}),
            # A test that expects a failure wants to see the first one.
            "restart": dict(restart or {"strategy": "none"}),
        }
        return document | ({"transform": {"sql": sql}} if sql is not None else {})

    def numbers(self, topic: str, **sections: Any) -> Config:
        """Return a job of `numbered` records into a table of its own, one checkpoint at a time."""
        source = {"format": "json", "schema": "id STRING, n INT"} | sections.pop("source", {})
        sink = {"columns": {"d": ["n"]}, "encoding": "string"} | sections.pop("sink", {})
        return self.config(
            topic, sections.pop("table", None) or self.table("d"), source=source, sink=sink, **sections
        )

    def spec(
        self,
        config: Config,
        transformation: Transformation | None = None,
        *,
        participants: Sequence[object] = (),
        options: StartOptions | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> JobSpec:
        """Return what a job in the shared session is made of."""
        return JobSpec(
            spark=self.spark,
            config=config,
            folder=self.root,
            log=self.root / "driver.log",
            transformation=transformation,
            participants=Participants(list(participants)),
            options=options or StartOptions(),
            warn=warn,
        )

    def start(self, config: Config, transformation: Transformation | None = None, **parts: Any) -> Job:
        """Run the start-up checks and start the job; the caller waits for it. See `spec` for the parts."""
        spec = self.spec(config, transformation, **parts)
        recover_from_damage(spec)
        return start_job(prepare_job(spec))

    @contextmanager
    def running(
        self, config: Config, transformation: Transformation | None = None, **parts: Any
    ) -> Iterator[Running]:
        """Start a job that runs beside the test, and stop it at a boundary in the end."""
        job = self.start(config, transformation, **parts)
        with RunningPipeline(job, ExitStack()) as pipeline:
            yield Running(job, pipeline)

    def run_bounded(self, config: Config, transformation: Transformation | None = None, **parts: Any) -> Run:
        """Run a job that ends by itself."""
        assert all(source.stop != "never" for source in config.views.values()), "this job would not end"
        job = self.start(config, transformation, **parts)
        status = job.wait()
        return Run(status, job.progress(), job.error)

    def finish(self, config: Config, transformation: Transformation | None = None, **parts: Any) -> Progress:
        """Run a job that ends by itself and well, and return what it counted."""
        run = self.run_bounded(config, transformation, **parts)
        assert run.status is JobStatus.FINISHED, str(run.error)
        return run.progress


@contextmanager
def lab_session(name: str, folder: Path, log: Path) -> Iterator[SparkSession]:
    """Lend out a session as `milepost run` opens it; four slots, since real-time keeps one per partition."""
    share_modules(folder)
    config = Config(
        name=name,
        source={"kafka": {"bootstrap-servers": "unused:1", "topics": ["unused"]}},
        sink={
            "hbase": {"quorum": "unused", "table": "unused", "row-key": ["key"], "columns": {"d": ["value"]}}
        },
        checkpointing={"dir": str(folder)},
        spark={"conf": {"spark.sql.shuffle.partitions": 2}},
    )
    with session(name, spark_conf("local[4]", session_settings(config), log), log) as spark:
        yield spark


def numbered(count: int, first: int = 0, partitions: int = 1) -> list[Sent]:
    """Return records for `Lab.numbers`: k0, k1, … in turn over the partitions."""
    return [
        Sent(json.dumps({"id": f"k{n}", "n": n}).encode(), b"k", n % partitions)
        for n in range(first, first + count)
    ]


def _is_served(admin: AdminClient, topic: str, partitions: int) -> bool:
    known = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic]
    return known.error is None and sum(each.leader >= 0 for each in known.partitions.values()) == partitions


def no_trace(text: str) -> bool:
    """Return whether a text for people holds no stack trace."""
    return "Traceback" not in text and "\tat " not in text and "Exception in thread" not in text


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def visible(cells: Sequence[RawCell]) -> dict[bytes, dict[bytes, bytes]]:
    """Return what a client sees of raw cells: the newest put of each column that no marker hides."""
    rows: dict[bytes, dict[bytes, tuple[int, bytes]]] = {}
    for row, family, qualifier, version, kind, value in cells:
        if kind != "Put" or _is_hidden(cells, (row, family, qualifier, version)):
            continue
        known = rows.setdefault(row, {}).get(qualifier)
        if known is None or known[0] < version:
            rows[row][qualifier] = (version, value)
    return {row: {name: value for name, (_, value) in columns.items()} for row, columns in rows.items()}


def _is_hidden(cells: Sequence[RawCell], cell: tuple[bytes, str, bytes, int]) -> bool:
    row, family, qualifier, version = cell
    return any(
        (other[0], other[1]) == (row, family)
        and other[3] >= version
        and (other[4] == "DeleteFamily" or (other[4] == "DeleteColumn" and other[2] == qualifier))
        for other in cells
    )
