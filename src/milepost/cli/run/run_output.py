"""The output of a job in the foreground: text, or one JSON document per line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from rich.live import Live
from rich.text import Text

from milepost.cli.output import table
from milepost.cli.output.console import (
    err,
    is_terminal,
    out,
    print_error,
)
from milepost.cli.run.plan import print_plan
from milepost.errors import MilepostError, NotReachableError, StorageError
from milepost.job.monitoring.end_offsets import EndOffsets
from milepost.job.monitoring.progress import (
    NO_CHANGE,
    Progress,
    RateMeter,
)
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job
from milepost.pipeline import Plan
from milepost.rest.server.server import Address
from milepost.source.positions import total_lag

PROGRESS_INTERVAL_S = 10.0
"""Seconds between two progress lines without a terminal."""

ProgressListener = Callable[[Progress], None]


class RunOutput(Protocol):
    """Reports the events of a job, in the order in which they happen."""

    def show_plan(self, plan: Plan) -> None:
        """Report where each partition starts."""

    def show_started(self, name: str, job: Job) -> None:
        """Report that the job is running."""

    def show_address(self, address: Address) -> None:
        """Report the address of the job, and where its tokens are."""

    def progress(self, ends: EndOffsets) -> AbstractContextManager[ProgressListener]:
        """Yield a function that is called with the progress at short intervals."""

    def show_restart(self, error: MilepostError, delay: float) -> None:
        """Report that the job failed and restarts after the delay."""

    def show_end(self, name: str, status: JobStatus, progress: Progress) -> None:
        """Report how the job ended; its error is raised by the command."""


class TextOutput:
    """Prints text, with live progress on a terminal and a progress line at intervals elsewhere."""

    def show_plan(self, plan: Plan) -> None:
        """Print a table, and the warnings that the previous start did not print."""
        print_plan(plan, plan.new_warnings)

    def show_started(self, name: str, job: Job) -> None:
        """Print the id and the log."""
        out.print(f"Job {name} is running, id {job.job_id}. Log: {job.log}. Ctrl-C stops at a boundary.")

    def show_address(self, address: Address) -> None:
        """Print the address; on a terminal it contains a generated token, as in Jupyter."""
        for line in address_lines(address, is_terminal()):
            out.print(line, markup=False)

    @contextmanager
    def progress(self, ends: EndOffsets) -> Iterator[ProgressListener]:
        """Show one line of progress."""
        meter = RateMeter()

        def line(progress: Progress) -> str:
            return progress_line(progress, meter.update(time.monotonic(), progress.rows), ends.latest)

        if not out.is_terminal:
            yield throttle(lambda progress: out.print(line(progress)))
            return
        with Live(console=out, refresh_per_second=4, transient=True) as live:
            yield lambda progress: live.update(Text(line(progress)))

    def show_restart(self, error: MilepostError, delay: float) -> None:
        """Print the error and the delay."""
        if isinstance(error, StorageError | NotReachableError):
            # It may repeat many times until the disk has space again or the service is back.
            err.print(f"{error.what}. Restarting from the newest checkpoint in {delay:.1f} s …", markup=False)
            return
        print_error(error)
        err.print(f"Restarting from the newest checkpoint in {delay:.1f} s …")

    def show_end(self, name: str, status: JobStatus, progress: Progress) -> None:
        """Print the counts."""
        out.print(
            f"Job {name} {status.value}: {progress.rows:,} rows, "
            f"{progress.rejected_count:,} rejected{_late(progress, ', {:,} late')}, "
            f"last checkpoint {_checkpoint(progress)}."
        )
        for reason, count in sorted(progress.rejected.items()):
            out.print(f"  {'skipped' if reason == NO_CHANGE else 'rejected'} {reason}: {count:,}")


class JsonOutput:
    """Prints one JSON document per line; `event` is its kind."""

    def show_plan(self, plan: Plan) -> None:
        """Print the plan as it is stored."""
        _event("plan", plan.document())

    def show_started(self, name: str, job: Job) -> None:
        """Print name, id and log."""
        _event("started", {"name": name, "id": job.job_id, "log": str(job.log)})

    def show_address(self, address: Address) -> None:
        """Print the address and the files of its tokens."""
        files = {"token-file": address.token_file, "read-token-file": address.read_token_file}
        _event("listening", {"address": address.url} | files)

    @contextmanager
    def progress(self, ends: EndOffsets) -> Iterator[ProgressListener]:
        """Print the counts at intervals."""
        yield throttle(
            lambda progress: _event("progress", counts(progress) | {"lag": _lag(progress, ends.latest)})
        )

    def show_restart(self, error: MilepostError, delay: float) -> None:
        """Print the error and the delay."""
        _event("restarting", {"error": error.what, "why": error.why, "delay-seconds": delay})

    def show_end(self, name: str, status: JobStatus, progress: Progress) -> None:
        """Print the counts."""
        _event("ended", {"name": name, "state": status.value} | counts(progress))


def address_lines(address: Address, shows_token: bool) -> list[str]:
    """Return how the job is reached; a configured token is never printed."""
    reading = f"Read-only token: in {address.read_token_file}"
    if address.token_origin == "configured":
        return [f"REST interface: {address.url}", "Token: as configured in rest.token", reading]
    if shows_token:
        return [f"REST interface: {address.link}", reading]
    return [f"REST interface: {address.url}", f"Token: in {address.token_file}", reading]


def progress_line(progress: Progress, rate: float, latest: Any) -> str:
    """Return the progress as text."""
    behind = "unknown" if latest is None else f"{_lag(progress, latest):,}"
    loading = " bulk-load" if progress.is_bulk_load else ""
    acks = f" · acks {progress.acknowledged}/{progress.tasks}{loading}" if progress.tasks else ""
    bad = f" · rejected {progress.rejected_count:,}" if progress.rejected_count else ""
    return (
        f"{progress.rows:,} rows · {rate:,.0f} rows/s · lag {behind} · "
        f"checkpoint {_checkpoint(progress)}{acks}{bad}{_late(progress, ' · late {:,}')}"
    )


def counts(progress: Progress) -> dict[str, Any]:
    """Return the counts of a job as JSON."""
    return {
        "rows": progress.rows,
        "rejected": dict(progress.rejected),
        "late": dict(progress.late),
        "checkpoint": progress.checkpoint_id,
        "acknowledged": progress.acknowledged,
        "tasks": progress.tasks,
    }


def throttle(show: ProgressListener) -> ProgressListener:
    """Return a listener that passes on at most one call per interval."""
    shown_at = [time.monotonic()]

    def listen(progress: Progress) -> None:
        if time.monotonic() - shown_at[0] >= PROGRESS_INTERVAL_S:
            shown_at[0] = time.monotonic()
            show(progress)

    return listen


def _event(name: str, document: dict[str, Any]) -> None:
    table.print_lines([json.dumps({"event": name} | document)])


def _lag(progress: Progress, latest: Any) -> int | None:
    return None if latest is None else total_lag(progress.position, latest)


def _late(progress: Progress, form: str) -> str:
    return form.format(progress.late_count) if progress.late_count else ""


def _checkpoint(progress: Progress) -> str:
    return "none yet" if progress.checkpoint_id is None else str(progress.checkpoint_id)
