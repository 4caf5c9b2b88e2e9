"""The environment of a demonstration: a temporary folder, Kafka and HBase, and the verification at the end."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import yaml

from milepost.checkpoint.store.layout import Layout
from milepost.config import Config
from milepost.demo.workload import SCHEMA
from milepost.errors import ServicesError
from milepost.job.spark.session import session, spark_conf
from milepost.services import Endpoints, Services
from milepost.verify import Report, verify_pipeline

REGIONS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The options of every demonstration: its output, its services, and whether its files are kept."""

    keep: bool = False
    services: Path | None = None
    """The directory of running services to use; by default the demo starts its own."""
    say: Callable[[str], None] = field(default=print)
    """Prints a line of the demo."""
    warn: Callable[[str], None] = field(default=print)
    """Prints a line that is not part of the demo."""


@dataclass(frozen=True, slots=True)
class DemoEnvironment:
    """The folder, services and names of one run of a demonstration."""

    folder: Path
    """Contains the pipeline, its checkpoints and all logs."""
    endpoints: Endpoints
    name: str
    """The name of the topic, the table and the group, unique on these services."""

    @property
    def layout(self) -> Layout:
        """The checkpoint directory of the pipeline."""
        return Layout(self.folder / "checkpoint")

    def write_pipeline(
        self, name: str, *, source: Mapping[str, Any], interval: str, **sections: Mapping[str, Any]
    ) -> Path:
        """Write a pipeline for the orders of the workload, and return its file."""
        kafka = {
            "bootstrap-servers": self.endpoints.bootstrap_servers,
            "topics": [self.name],
            "format": "json",
            "schema": SCHEMA,
        }
        hbase = {
            "quorum": self.endpoints.quorum,
            "table": self.name,
            "row-key": ["id"],
            "columns": {"d": ["customer", "amount", "seq"]},
            "op": "op",
            "create-table": {"regions": REGIONS},
        }
        document = {
            "name": name,
            "source": {"kafka": kafka | dict(source)},
            "sink": {"hbase": hbase},
            "checkpointing": {"dir": str(self.layout.root), "interval": interval},
            "spark": {"master": "local[2]"},
        }
        path = self.folder / "pipeline.yaml"
        path.write_text(yaml.safe_dump(document | sections, sort_keys=False), encoding="utf-8")
        return path


@contextmanager
def demo_environment(demo: DemoOptions, name: str) -> Iterator[DemoEnvironment]:
    """Yield the environment of a demo; at the end its processes are stopped and its folder is deleted."""
    began = time.monotonic()
    with exit_on_signals(), workspace(demo) as folder, _services(demo, folder) as endpoints:
        yield DemoEnvironment(
            folder, endpoints, name if demo.services is None else f"{name}-{uuid.uuid4().hex[:8]}"
        )
    demo.say(f"Everything is stopped and cleaned up after {time.monotonic() - began:.0f} s")


def verify_table(demo: DemoOptions, config: Config, folder: Path) -> Report:
    """Compare the pipeline's table with its log; if they differ, print examples and raise an error."""
    began = time.monotonic()
    log = folder / "verify.log"
    conf = spark_conf(config.spark.master, config.spark.conf, log)
    with session("verify", conf, log) as spark:
        report = verify_pipeline(config, spark, say=lambda line: demo.say(f"   {line}"))
    demo.say(f"   compared in {time.monotonic() - began:.0f} s, including the start of Spark")
    if not report.is_verified:
        for line in report.lines():
            demo.say(line)
        raise report.error()
    return report


@contextmanager
def workspace(demo: DemoOptions) -> Iterator[Path]:
    """Yield a folder, and delete it at the end unless the demo failed or `keep` is set."""
    folder = Path(tempfile.mkdtemp(prefix="milepost-demo-")).resolve()
    try:
        yield folder
    except BaseException as error:
        # Files are kept after a failure, which they explain, but not after an interruption.
        _delete_unless_kept(folder, demo, is_kept=demo.keep or isinstance(error, Exception))
        raise
    _delete_unless_kept(folder, demo, is_kept=demo.keep)


def _delete_unless_kept(folder: Path, demo: DemoOptions, *, is_kept: bool) -> None:
    if is_kept:
        demo.warn(f"Logs, checkpoints and data are kept in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Unwind the stack on SIGTERM and SIGHUP, as on Ctrl-C, so that every started process is stopped."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _services(demo: DemoOptions, folder: Path) -> Iterator[Endpoints]:
    if demo.services is not None:
        yield _running(demo, demo.services)
        return
    demo.say("1. Starting a real Kafka and a real HBase")
    began = time.monotonic()
    with Services(folder / "services") as endpoints:
        demo.say(
            f"   Kafka at {endpoints.bootstrap_servers}, HBase at {endpoints.quorum}, "
            f"ready in {time.monotonic() - began:.0f} s"
        )
        yield endpoints


def _running(demo: DemoOptions, directory: Path) -> Endpoints:
    endpoints = Services(directory).endpoints()
    if not (endpoints.bootstrap_servers and endpoints.quorum):
        raise ServicesError(
            f"Kafka and HBase are not both running in {directory}",
            fix=f"Start them with `milepost services up --dir {directory}`, or omit --services",
        )
    demo.say(f"1. Using the Kafka and HBase in {directory}; the topic and the table are not deleted")
    demo.say(f"   Kafka at {endpoints.bootstrap_servers}, HBase at {endpoints.quorum}")
    return endpoints
