"""Runs a job in the foreground, from its start-up plan to its end, and handles its signals."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from milepost.cli.output.console import err
from milepost.cli.run.plan import connecting_bar, open_job_spec
from milepost.cli.run.run_output import RunOutput
from milepost.config import Config
from milepost.job.monitoring.end_offsets import EndOffsets
from milepost.job.monitoring.logs import Subject
from milepost.job.prepare import recover_from_damage
from milepost.job.spec import StartOptions
from milepost.job.start import start_job
from milepost.job.startup.early_checks import make_table_check
from milepost.job.startup.resume import prepare_by_strategy
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job
from milepost.rest.server.server import Listener, serve_job


def run_in_foreground(
    config: Config, folder: Path, options: StartOptions, output: RunOutput, subject: Subject
) -> None:
    """Run the job to its end, and raise the error that it failed with; `subject` labels the log lines."""
    with (
        Listener.open(config.rest) as listener,
        open_job_spec(config, folder, options, make_table_check(config)) as spec,
    ):
        subject.job_id = spec.job_id
        recover_from_damage(spec)
        with connecting_bar(config):
            pipeline = prepare_by_strategy(spec, output.show_restart)
        output.show_plan(pipeline.plan)
        job = start_job(pipeline)
        subject.attempt = lambda: job.restarts + 1
        subject.pending = lambda: job.checkpoints.pending
        output.show_started(config.name, job)
        with serve_job(listener, job, config) as address:
            output.show_address(address)
            with _signals(job), EndOffsets(pipeline.end_offsets) as ends, output.progress(ends) as show:
                job.wait(show, output.show_restart)
        output.show_end(config.name, job.status, job.progress())
        if job.status is JobStatus.FAILED and job.error is not None:
            raise job.error


@contextmanager
def _signals(job: Job) -> Iterator[None]:
    """Stop at a boundary on the first signal, immediately on the second."""
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:
            err.print("Stopping at the next boundary …")
            job.cancel()
        else:
            # Py4J logs a stack trace for each of its calls that is interrupted here.
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
