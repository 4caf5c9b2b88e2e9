"""Applies the restart strategy to the start of a job that has run before, if Kafka or HBase does not respond."""

from __future__ import annotations

import threading

from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import Store
from milepost.errors import NotReachableError
from milepost.job.prepare import PreparedJob, prepare_job
from milepost.job.restart import RestartDelays, create_strategy
from milepost.job.spec import JobSpec
from milepost.job.supervisor import RestartListener


def prepare_by_strategy(spec: JobSpec, on_restart: RestartListener) -> PreparedJob:
    """Run every start-up check; repeat them while a service does not respond and the strategy allows it.

    Without a completed checkpoint they run once: the configured services may never have existed.
    """
    delays = RestartDelays(create_strategy(spec.config.restart))
    pause = threading.Event()
    while True:
        try:
            return prepare_job(spec)
        except NotReachableError as error:
            delay = delays.after_failure() if has_checkpoint(spec) else None
            if delay is None:
                raise
            on_restart(error, delay)
            pause.wait(delay)


def has_checkpoint(spec: JobSpec) -> bool:
    """Return whether the start resumes from a completed checkpoint in the directory."""
    if spec.discards_state or spec.savepoint is not None:
        return False
    return newest_completed(Store.at(spec.config.checkpointing.dir)) is not None
