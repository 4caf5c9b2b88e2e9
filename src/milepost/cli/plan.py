"""Shows a pipeline on its way to the start: the wait, then the start-up plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.table import Table

from milepost.cli.console import err, out
from milepost.config import Config
from milepost.job.launch import Prepared, prepared
from milepost.pipeline import Plan


@contextmanager
def planned(config: Config, folder: Path) -> Iterator[Prepared]:
    """Check the pipeline, print its start-up plan, and yield what may be started."""
    with ExitStack() as stack:
        with err.status("Starting Spark, asking Kafka and HBase …"):
            pipeline = stack.enter_context(prepared(config, folder))
        _print_plan(pipeline.plan)
        yield pipeline


def _print_plan(plan: Plan) -> None:
    """Print where every partition begins, why there, and what the job will do."""
    start = plan.start
    origin = "a fresh start" if start.resumed_from is None else f"checkpoint {start.resumed_from}"
    out.print(f"Start-up plan of {plan.config.name}: from {origin}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for column in ("topic", "partition", "starts at", "because", "end of log", "backlog"):
        table.add_column(column, justify="left" if column in ("topic", "because") else "right")
    for each in start.partitions:
        table.add_row(
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
    for warning in plan.warnings:
        out.print(f"  Warning: {warning}", style="yellow")
