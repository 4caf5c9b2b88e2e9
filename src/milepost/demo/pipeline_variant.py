"""Runs, kills and restarts a pipeline over two topics; its table keeps every version of a cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from milepost.api import RunningPipeline
from milepost.checkpoint import failpoint
from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.store import Store
from milepost.config import Config
from milepost.demo.driver import Driver, read_position
from milepost.demo.environment import DemoEnvironment
from milepost.demo.producer import LiveProducer, create_topic
from milepost.demo.workload import Event
from milepost.engine import jvm
from milepost.errors import JobFailedError
from milepost.job.prepare import prepare_job
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.sink.hbase import connection_options
from milepost.sink.table import FOR_EVER_MS, PURGE_DELETES_AFTER
from milepost.verify.compare import RawCell
from milepost.verify.table import raw_cells

VIEWS = ("one", "two")
FAMILY = "d"
TIMEOUT_S = 180.0

_VERSIONS = 10
_KILL = {failpoint.VARIABLE: "6-seal-before=kill"}
_EXIT_CODE_OF_SIGKILL = -9


@dataclass(frozen=True, slots=True)
class PipelineVariant:
    """One pipeline over the two sources; all variants go through the same steps."""

    name: str
    mode: str
    sql: str
    sink: Mapping[str, Any]


def topics_of(environment: DemoEnvironment, variant: PipelineVariant) -> dict[str, str]:
    """Return the view of each topic of a variant."""
    return {f"{environment.name}-{variant.name}-{view}": view for view in VIEWS}


def document(environment: DemoEnvironment, variant: PipelineVariant) -> dict[str, Any]:
    """Return the pipeline of a variant as a document; after the first one, checkpoints are taken on demand."""
    kafka = {
        "bootstrap-servers": environment.endpoints.bootstrap_servers,
        "start": "earliest",
        "format": "string",
    }
    name = f"{environment.name}-{variant.name}"
    return {
        "name": name,
        "sources": {
            view: {"kafka": kafka | {"topics": [topic]}}
            for topic, view in topics_of(environment, variant).items()
        },
        "transform": {"sql": variant.sql},
        "sink": {"hbase": {"quorum": environment.endpoints.quorum, "table": name, **variant.sink}},
        "checkpointing": {"dir": str(environment.folder / name), "interval": "1h", "mode": variant.mode},
        "spark": {"master": "local[2]", "conf": {"spark.sql.shuffle.partitions": 2}},
    }


class VariantRun:
    """One variant in its environment: its pipeline, topics and table."""

    def __init__(self, environment: DemoEnvironment, spark: SparkSession, variant: PipelineVariant) -> None:
        """Create the topics and the table."""
        written = document(environment, variant)
        self.config = Config(**written)
        self.layout = Layout(Path(self.config.checkpointing.dir))
        self._environment = environment
        self._spark = spark
        self._file = environment.folder / f"{variant.name}.yaml"
        self._file.write_text(yaml.safe_dump(written, sort_keys=False), encoding="utf-8")
        bootstrap_servers = environment.endpoints.bootstrap_servers
        self._producers = []
        for topic in topics_of(environment, variant):
            create_topic(bootstrap_servers, topic, 1)
            events = (Event(b"k", f"{number:04d}".encode()) for number in count())
            self._producers.append(LiveProducer(bootstrap_servers, topic, events))
        _create_table(spark, environment.endpoints.quorum, self.config.sink.hbase.table)

    def send(self, counts: tuple[int, int]) -> None:
        """Send that many records to each of the two topics."""
        for producer, number in zip(self._producers, counts, strict=True):
            producer.send(number)

    @contextmanager
    def running(self) -> Iterator[RunningPipeline]:
        """Run the job in this process while the block runs, and stop it at a boundary."""
        spec = JobSpec(
            spark=self._spark,
            config=self.config,
            folder=self._environment.folder,
            log=self._environment.folder / "driver.log",
        )
        with RunningPipeline(start_job(prepare_job(spec)), ExitStack()) as job:
            yield job

    def crash(self) -> int:
        """Run the job in a process that is killed in step 6 of its first checkpoint, and return the checkpoint's id.

        All rows of the checkpoint are in the table by then, and Spark has not committed it.
        """
        log = self._file.with_suffix(".log")
        with Driver(self._file, log, self.layout, environment=_KILL) as driver:
            code = driver.wait(timeout=TIMEOUT_S)
        in_flight = read_position(self.layout).in_flight
        if code != _EXIT_CODE_OF_SIGKILL or in_flight is None:
            raise JobFailedError(f"The job ended with exit code {code} instead of a kill", why=f"see {log}")
        return in_flight

    def cells(self) -> list[RawCell]:
        """Return every version of every cell in the table."""
        return list(raw_cells(self._spark, connection_options(self.config.sink.hbase)))

    def manifests(self) -> dict[int, CompletedCheckpoint]:
        """Return the stored checkpoints by id."""
        files = CheckpointFiles(Store.at(self.config.checkpointing.dir))
        found = (files.get(checkpoint_id) for checkpoint_id in files.ids())
        return {each.checkpoint_id: each for each in found if each is not None}


def _create_table(spark: SparkSession, quorum: str, table: str) -> None:
    """Create a table that keeps several versions, so that repeated writes remain visible."""
    hbase = jvm(spark).org.apache.hadoop.hbase
    configuration = hbase.HBaseConfiguration.create()
    configuration.set("hbase.zookeeper.quorum", quorum)
    family = hbase.client.ColumnFamilyDescriptorBuilder.newBuilder(FAMILY.encode())
    descriptor = hbase.client.TableDescriptorBuilder.newBuilder(hbase.TableName.valueOf(table))
    family.setMaxVersions(_VERSIONS).setConfiguration(PURGE_DELETES_AFTER, str(FOR_EVER_MS))
    descriptor.setColumnFamily(family.build())
    connection = hbase.client.ConnectionFactory.createConnection(configuration)
    try:
        connection.getAdmin().createTable(descriptor.build())
    finally:
        connection.close()
