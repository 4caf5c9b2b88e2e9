"""`milepost run`: runs a pipeline in the foreground with live progress."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer
from rich.live import Live
from rich.text import Text

from milepost.checkpoint.savepoint.claim import asked_for, claim_mode_of
from milepost.cli.arguments import File, Settings
from milepost.cli.console import err, out, print_error
from milepost.cli.plan import opened, planned
from milepost.config import load_config
from milepost.errors import MilepostError
from milepost.job.ends import EndOffsets
from milepost.job.launch import Wishes
from milepost.job.progress import NO_CHANGE, Progress, RateMeter, lag
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job
from milepost.rest.server import Listener, serving

_LINE_EVERY = 10.0


Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh", help="Begin without the checkpoints in checkpointing.dir; they are set aside, not deleted."
    ),
]
AllowNonRestoredState = Annotated[
    bool,
    typer.Option(
        "--allow-non-restored-state",
        help="Go on although the checkpoint holds state of participants that the pipeline no longer has.",
    ),
]


FromSavepoint = Annotated[
    str | None,
    typer.Option(
        "--from-savepoint",
        metavar="PATH",
        help="Begin from this savepoint; what checkpointing.dir holds is set aside, not deleted.",
    ),
]
Claim = Annotated[
    str,
    typer.Option(
        "--claim-mode",
        metavar="claim|no-claim",
        help="Whose the savepoint is then: claim removes it after the first checkpoint.",
    ),
]


def run(
    file: File,
    settings: Settings = None,
    fresh: Fresh = False,
    from_savepoint: FromSavepoint = None,
    allow_non_restored_state: AllowNonRestoredState = False,
    claim_mode: Claim = "no-claim",
) -> None:
    """Run the pipeline in FILE; Ctrl-C stops it at the next boundary, a second Ctrl-C at once."""
    config = load_config(file, settings or [])
    wishes = Wishes(
        fresh=fresh,
        allow_non_restored_state=allow_non_restored_state,
        savepoint=asked_for(from_savepoint, fresh=fresh),
        claim_mode=claim_mode_of(claim_mode),
    )
    with Listener.open(config.rest) as listener, opened(config, file.parent, wishes) as recipe:
        recipe.mend()
        pipeline = planned(recipe)
        job = pipeline.start()
        out.print(
            f"Job {config.name} is running, id {job.job_id}. Log: {job.log}. Ctrl-C stops at a boundary."
        )
        with serving(listener, job, config) as address:
            # The one place where the token is printed, as Jupyter does: for whoever started the job.
            out.print(f"REST interface: {address.link}", markup=False)
            with _signals(job), EndOffsets(pipeline.end_offsets) as ends, _display(ends) as look:
                job.wait(look, _tell_restart)
        status, progress = job.status, job.progress()
        out.print(
            f"Job {config.name} {status.value}: {progress.rows:,} rows, "
            f"{progress.rejected_count:,} rejected, last checkpoint {_checkpoint(progress)}."
        )
        for reason, count in sorted(progress.rejected.items()):
            out.print(f"  {'passed over' if reason == NO_CHANGE else 'rejected'} {reason}: {count:,}")
        if status is JobStatus.FAILED and job.error is not None:
            raise job.error


@contextmanager
def _signals(job: Job) -> Iterator[None]:
    """Stop at a boundary on the first signal, at once on the second."""
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:
            err.print("Stopping at the next boundary …")
            job.cancel()
        else:
            # Py4J logs a stack trace for each of its calls that is broken off here.
            logging.disable(logging.CRITICAL)
            raise KeyboardInterrupt

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        job.abandon()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _display(ends: EndOffsets) -> Iterator[Callable[[Progress], None]]:
    """Show progress in place on a terminal, as a line now and then elsewhere."""
    meter = RateMeter()

    def line(progress: Progress) -> str:
        rate = meter.look(time.monotonic(), progress.rows)
        behind = "unknown" if ends.latest is None else f"{lag(progress.position, ends.latest):,}"
        loading = " bulk-load" if progress.is_bulk_load else ""
        acks = f" · acks {progress.acknowledged}/{progress.tasks}{loading}" if progress.tasks else ""
        bad = f" · rejected {progress.rejected_count:,}" if progress.rejected_count else ""
        return (
            f"{progress.rows:,} rows · {rate:,.0f} rows/s · lag {behind} · "
            f"checkpoint {_checkpoint(progress)}{acks}{bad}"
        )

    if out.is_terminal:
        with Live(console=out, refresh_per_second=4, transient=True) as live:
            yield lambda progress: live.update(Text(line(progress)))
        return
    printed_at = [time.monotonic()]

    def print_now_and_then(progress: Progress) -> None:
        if time.monotonic() - printed_at[0] >= _LINE_EVERY:
            printed_at[0] = time.monotonic()
            out.print(line(progress))

    yield print_now_and_then


def _tell_restart(error: MilepostError, delay: float) -> None:
    print_error(error)
    err.print(f"Restarting from the newest checkpoint in {delay:.1f} s …")


def _checkpoint(progress: Progress) -> str:
    return "none yet" if progress.checkpoint_id is None else str(progress.checkpoint_id)
