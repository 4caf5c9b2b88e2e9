"""Shows a pipeline on its way to the start: the wait, then the start-up plan."""

from __future__ import annotations

from contextlib import AbstractContextManager

from rich.table import Table

from milepost.cli.console import err, out
from milepost.pipeline import Plan


def starting() -> AbstractContextManager[object]:
    """Show on a terminal that something is going on until the plan can be printed."""
    return err.status("Starting Spark, asking Kafka and HBase …")


def print_plan(plan: Plan) -> None:
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
