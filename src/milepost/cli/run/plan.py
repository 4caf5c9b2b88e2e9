"""What a start shows: the progress of its slow steps, then the start-up plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

from rich.table import Table

from milepost.cli.output.console import err, out
from milepost.cli.output.progress import progress_bar, show_time_used
from milepost.config import Config
from milepost.job.open import open_job
from milepost.job.spark.session import BeforeSession
from milepost.job.spec import JobSpec, StartOptions
from milepost.pipeline import Plan


@contextmanager
def open_job_spec(
    config: Config,
    folder: Path,
    options: StartOptions | None = None,
    before_session: BeforeSession = lambda _: None,
) -> Iterator[JobSpec]:
    """Start Spark and yield the spec of the job; see `open_job` for `before_session`."""
    with ExitStack() as stack:
        with progress_bar("Starting Spark …"):
            parts = {"warn": warn, "options": options or StartOptions()}
            spec = stack.enter_context(open_job(config, folder, before_session, **parts))
        yield spec


@contextmanager
def connecting_bar(config: Config) -> Iterator[None]:
    """Show a progress bar of the time limit for connecting to Kafka and HBase."""
    limits = [source.connect_timeout for source in config.views.values()]
    if config.sink.to_hbase is not None:
        limits.append(config.sink.to_hbase.connect_timeout)
    title = "Connecting to Kafka and HBase …" if config.sink.to_hbase is not None else "Connecting to Kafka …"
    with progress_bar(title) as bar, show_time_used(bar, sum(limits, timedelta()).total_seconds()):
        yield


def warn(sentence: str) -> None:
    """Print a warning to stderr; the job continues."""
    err.print(f"Warning: {sentence}", style="yellow")


def print_plan(plan: Plan, warnings: Sequence[str] | None = None) -> None:
    """Print where each partition starts and why, and what the job does; `warnings` replaces those of the plan."""
    start, names = plan.start, len(plan.starts) > 1
    origin = "a fresh start" if start.resumed_from is None else f"checkpoint {start.resumed_from}"
    out.print(f"Start-up plan of {plan.config.name}: from {origin}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    columns = ("topic", "partition", "starts at", "because", "end of log", "backlog")
    for column in ("source", *columns) if names else columns:
        table.add_column(column, justify="left" if column in ("source", "topic", "because") else "right")
    for view, each in ((view, each) for view, start in plan.starts.items() for each in start.partitions):
        table.add_row(
            *((view,) if names else ()),
            each.topic,
            str(each.partition),
            str(each.offset),
            each.reason,
            str(each.latest),
            str(each.backlog),
        )
    out.print(table)
    for line in plan.summary():
        out.print(f"  {line}")
    for warning in plan.warnings if warnings is None else warnings:
        out.print(f"  Warning: {warning}", style="yellow")
