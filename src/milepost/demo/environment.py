"""What every demonstration stands on: a folder that goes away, a Kafka and an HBase, and the proof at the end."""

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
class Story:
    """How a demonstration is told: to whom, on which services, and whether its files stay."""

    keep: bool = False
    services: Path | None = None
    """A directory of running services to use; without one it starts its own."""
    say: Callable[[str], None] = field(default=print)
    """Takes a line of the story."""
    warn: Callable[[str], None] = field(default=print)
    """Takes a line beside the story."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where one telling of a story plays."""

    folder: Path
    """Holds the pipeline, its checkpoints and all logs."""
    endpoints: Endpoints
    name: str
    """What the topic, the table and the group are called here: nobody else on these services uses it."""

    @property
    def layout(self) -> Layout:
        """The checkpoint directory of the pipeline."""
        return Layout(self.folder / "checkpoint")

    def write_pipeline(
        self, name: str, *, source: Mapping[str, Any], interval: str, **sections: Mapping[str, Any]
    ) -> Path:
        """Write the pipeline a user would write for the orders of the workload, and return its file."""
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
def staged(story: Story, name: str) -> Iterator[Stage]:
    """Give a story everything it needs; whatever was started is ended, and the folder goes away."""
    began = time.monotonic()
    with ended_by_signals(), workspace(story) as folder, _services(story, folder) as endpoints:
        yield Stage(folder, endpoints, name if story.services is None else f"{name}-{uuid.uuid4().hex[:8]}")
    story.say(f"Everything is stopped and cleaned up, after {time.monotonic() - began:.0f} s")


def prove(story: Story, config: Config, folder: Path) -> Report:
    """Compare the pipeline's table with its log; raise, after the examples were told, where they differ."""
    began = time.monotonic()
    log = folder / "verify.log"
    conf = spark_conf(config.spark.master, config.spark.conf, log)
    with session("verify", conf, log) as spark:
        report = verify_pipeline(config, spark, say=lambda line: story.say(f"   {line}"))
    story.say(f"   compared in {time.monotonic() - began:.0f} s, Spark's start included")
    if not report.is_verified:
        for line in report.lines():
            story.say(line)
        raise report.error()
    return report


@contextmanager
def workspace(story: Story) -> Iterator[Path]:
    """Give a folder for everything; it goes away unless something failed or it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="milepost-demo-")).resolve()
    try:
        yield folder
    except BaseException as error:
        # Whoever interrupts the demo has seen enough; whoever sees it fail wants to know why.
        _leave(folder, story, is_kept=story.keep or isinstance(error, Exception))
        raise
    _leave(folder, story, is_kept=story.keep)


def _leave(folder: Path, story: Story, *, is_kept: bool) -> None:
    if is_kept:
        story.warn(f"Logs, checkpoints and data are kept in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that nothing started stays behind."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _services(story: Story, folder: Path) -> Iterator[Endpoints]:
    if story.services is not None:
        yield _running(story, story.services)
        return
    story.say("1. Starting a real Kafka and a real HBase")
    began = time.monotonic()
    with Services(folder / "services") as endpoints:
        story.say(
            f"   Kafka at {endpoints.bootstrap_servers}, HBase at {endpoints.quorum}, "
            f"ready in {time.monotonic() - began:.0f} s"
        )
        yield endpoints


def _running(story: Story, directory: Path) -> Endpoints:
    endpoints = Services(directory).endpoints()
    if not (endpoints.bootstrap_servers and endpoints.quorum):
        raise ServicesError(
            f"Kafka and HBase do not both run in {directory}",
            fix=f"Start them with `milepost services up --dir {directory}`, or leave --services out",
        )
    story.say(f"1. Using the Kafka and the HBase in {directory}; topic and table stay there afterwards")
    story.say(f"   Kafka at {endpoints.bootstrap_servers}, HBase at {endpoints.quorum}")
    return endpoints
