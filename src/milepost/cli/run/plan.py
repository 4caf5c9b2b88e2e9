"""Shows a pipeline on its way to the start: the wait, then the start-up plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

from rich.table import Table

from milepost.cli.output.console import err, out
from milepost.cli.output.progress import timed, working
from milepost.config import Config
from milepost.job.open import open_job
from milepost.job.prepare import PreparedJob, prepare_job
from milepost.job.spark.session import BeforeSession
from milepost.job.spec import JobSpec, StartOptions
from milepost.job.startup.resume import prepare_by_strategy
from milepost.job.supervisor import RestartListener
from milepost.pipeline import Plan


@contextmanager
def opened(
    config: Config,
    folder: Path,
    options: StartOptions | None = None,
    before_session: BeforeSession = lambda _: None,
) -> Iterator[JobSpec]:
    """Start Spark and yield what the job is made of; see `open_job` for `before_session`."""
    with ExitStack() as stack:
        with working("Starting Spark …"):
            parts = {"warn": warn, "options": options or StartOptions()}
            spec = stack.enter_context(open_job(config, folder, before_session, **parts))
        yield spec


def planned(spec: JobSpec) -> PreparedJob:
    """Check the pipeline, print its start-up plan, and return what may be started."""
    pipeline = prepared(spec)
    print_plan(pipeline.plan)
    return pipeline


def prepared(spec: JobSpec) -> PreparedJob:
    """Check the pipeline, and return what may be started."""
    with _asking(spec.config):
        return prepare_job(spec)


def prepared_to_resume(spec: JobSpec, on_restart: RestartListener) -> PreparedJob:
    """The same for a job that is to run: one that has run before waits for its services by its restart strategy."""
    with _asking(spec.config):
        return prepare_by_strategy(spec, on_restart)


@contextmanager
def _asking(config: Config) -> Iterator[None]:
    """Show how much of the time that the services may take is used."""
    limits = [source.connect_timeout for source in config.views.values()]
    if config.sink.to_hbase is not None:
        limits.append(config.sink.to_hbase.connect_timeout)
    title = "Asking Kafka and HBase …" if config.sink.to_hbase is not None else "Asking Kafka …"
    with working(title) as bar, timed(bar, sum(limits, timedelta()).total_seconds()):
        yield


def warn(sentence: str) -> None:
    """Tell what a person should know although the job goes on."""
    err.print(f"Warning: {sentence}", style="yellow")


def print_plan(plan: Plan, warnings: Sequence[str] | None = None) -> None:
    """Print where every partition begins, why there, and what the job will do; all warnings unless some are given."""
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
