"""Starts a job that has run before as its restart strategy says, where Kafka or HBase does not answer yet."""

from __future__ import annotations

import random
import threading
import time

from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import Store
from milepost.errors import NotReachableError
from milepost.job.prepare import PreparedJob, prepare_job
from milepost.job.spec import JobSpec
from milepost.job.supervisor import Notice, strategy_of


def prepare_by_strategy(spec: JobSpec, notice: Notice) -> PreparedJob:
    """Run every start-up check, again and again while a service does not answer and the strategy does not give up.

    A job without a completed checkpoint is asked about once: what it names may never have been there.
    """
    strategy, failures = strategy_of(spec.config.restart), []
    pause = threading.Event()
    while True:
        try:
            return prepare_job(spec)
        except NotReachableError as error:
            failures.append(time.monotonic())
            delay = strategy.delay(failures, random.uniform(-1, 1)) if resumes(spec) else None
            if delay is None:
                raise
            notice(error, delay)
            pause.wait(delay)


def resumes(spec: JobSpec) -> bool:
    """Return whether a start continues from a completed checkpoint of the directory."""
    if spec.discards_state or spec.savepoint is not None:
        return False
    return newest_completed(Store.at(spec.config.checkpointing.dir)) is not None
