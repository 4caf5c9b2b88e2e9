"""The parts of a job that outlive its attempts: lease, ledger, participants, coordinator and its thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from milepost.checkpoint.clock import Clock
from milepost.checkpoint.coordinator import CheckpointCoordinator
from milepost.checkpoint.lease.lease import Lease
from milepost.checkpoint.listeners import CoordinatorListener
from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint
from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.ports import Rules
from milepost.checkpoint.savepoint.job_outline import outline
from milepost.checkpoint.savepoint.take import Savepoints, Subject
from milepost.checkpoint.schedule import CheckpointSchedule
from milepost.checkpoint.stats.counts import CheckpointStats
from milepost.checkpoint.store import identity
from milepost.checkpoint.store.identity import JobIdentity
from milepost.checkpoint.store.ledger import FileLedger
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.worker import CoordinatorThread
from milepost.config import Checkpointing, Config
from milepost.engine import jvm
from milepost.errors import PreflightError
from milepost.job.bridge import EngineCalls
from milepost.sink.stage import SinkClaim

_STOP_TIMEOUT = 30.0
_SAVEPOINT_TIMEOUT = 600.0


@dataclass(frozen=True, slots=True)
class CheckpointRuntime:
    """The checkpointing of one job, from its first attempt to its end."""

    store: Store
    ledger: FileLedger
    participants: Participants
    coordinator: CheckpointCoordinator
    rules: Rules
    savepoints: Savepoints
    listeners: tuple[CoordinatorListener, ...]
    close: Callable[[], None]
    """Release everything, the lease last."""

    @classmethod
    def open(
        cls,
        config: Config,
        job_id: str,
        participants: Participants,
        listeners: Sequence[CoordinatorListener] = (),
    ) -> CheckpointRuntime:
        """Acquire the lease and start the coordinator's thread; trigger no checkpoint yet."""
        store = Store.at(config.checkpointing.dir)
        with ExitStack() as held:
            # Acquired before anything is written or removed, and held across restarts.
            lease = Lease.acquire(store, job_id)
            held.callback(lease.release)
            job = JobIdentity(name=config.name, job_id=job_id)
            identity.record_job(store, job)
            ledger = FileLedger(store, lease, retained=config.checkpointing.retained)
            rules = checkpoint_rules(config.checkpointing)
            coordinator = CheckpointCoordinator(job_id, rules, ledger, participants, listeners)
            coordinator.stats = _read_stats(ledger)
            coordinator.redact = config.redact
            subject = Subject(
                store=store, job=job, outline=outline(config), directory=config.checkpointing.savepoint_dir
            )
            savepoints = Savepoints(subject, coordinator, config.redact)
            worker = CoordinatorThread(coordinator)
            worker.start()
            held.callback(worker.stop, _STOP_TIMEOUT)
            # A savepoint in progress is finished while the lease is still held.
            held.callback(savepoints.close, _SAVEPOINT_TIMEOUT)
            return cls(
                store=store,
                ledger=ledger,
                participants=participants,
                coordinator=coordinator,
                rules=rules,
                savepoints=savepoints,
                listeners=tuple(listeners),
                close=held.pop_all().close,
            )

    def restore(self) -> CompletedCheckpoint | None:
        """Restore the participants; return the checkpoint that the attempt resumes from.

        Raises PreflightError if the checkpoint has state of a participant that the pipeline does not have.
        """
        restored = self._recover()
        if restored is not None and (unclaimed := self.participants.unclaimed(restored)):
            raise PreflightError(
                f"Checkpoint {restored.checkpoint_id} holds the state of {', '.join(map(repr, unclaimed))}, "
                "which is not a participant of this pipeline",
                why="its state would be lost at the next checkpoint",
                fix="Add a participant with this name again, or run with --allow-non-restored-state",
            )
        return self._initialize(restored)

    def restore_allowing_unclaimed(self) -> CompletedCheckpoint | None:
        """Like `restore`, but drop the state of participants that the pipeline no longer has."""
        return self._initialize(self._recover())

    def _recover(self) -> CompletedCheckpoint | None:
        restored = self.ledger.recover()
        if self.ledger.recovered is not None:
            self.coordinator.recovered(self.ledger.recovered)
        return restored

    def _initialize(self, restored: CompletedCheckpoint | None) -> CompletedCheckpoint | None:
        self.participants.initialize(restored, timeout=self.rules.timeout)
        return restored

    def connect(self, spark: SparkSession, engine_job: Any, claim: SinkClaim | None) -> EngineCalls:
        """Connect the engine's job with the coordinator; the caller stops the returned bridge."""

        def keep_versions(topics: str) -> None:
            if claim is not None:
                claim.keep_versions(topics)
            self.ledger.keep_versions(topics)

        if claim is not None:
            claim.watch(engine_job)
        calls = jvm(spark).io.milepost.job.CoordinatorCalls()
        engine_job.setCoordinator(calls)
        bridge = EngineCalls(calls, self.coordinator, Clock(), keep_versions)
        bridge.start()
        return bridge


def checkpoint_rules(checkpointing: Checkpointing) -> Rules:
    """Return the coordinator's rules; in real-time execution Spark's trigger applies the interval."""
    interval = checkpointing.interval.total_seconds()
    is_continuous = checkpointing.execution == "real-time"
    timeout, min_pause = checkpointing.timeout.total_seconds(), checkpointing.min_pause.total_seconds()
    return Rules(
        schedule=CheckpointSchedule(0, 0) if is_continuous else CheckpointSchedule(interval, min_pause),
        timeout=timeout + interval if is_continuous else timeout,
        tolerable_failures=checkpointing.tolerable_failures,
        is_continuous=is_continuous,
    )


def _read_stats(ledger: FileLedger) -> CheckpointStats:
    events = reversed(ledger.history.read())
    return CheckpointStats.of(e for e in events if isinstance(e, CompletedCheckpoint | FailedCheckpoint))
