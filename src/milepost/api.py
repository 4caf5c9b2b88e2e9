"""The Python API: a pipeline with the same names as in the YAML, and a function as its transformation."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypedDict

from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint, Value
from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.savepoint.claim import claim_mode_of, requested_savepoint
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.store.layout import absolute_directory
from milepost.config import (
    Checkpointing,
    Config,
    KafkaSource,
    Rest,
    Restart,
    SinkKind,
    SparkSettings,
    Telemetry,
)
from milepost.errors import MilepostError
from milepost.job.monitoring.progress import Progress
from milepost.job.open import open_job
from milepost.job.prepare import recover_from_damage
from milepost.job.spec import StartOptions
from milepost.job.start import start_job
from milepost.job.startup.early_checks import make_table_check, require_not_running, require_startable
from milepost.job.startup.resume import prepare_by_strategy
from milepost.job.startup.table_ownership import TableUse
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job
from milepost.rest.server.server import Address, Listener, serve_job
from milepost.transform import Transformation

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

log = logging.getLogger(__name__)


class Settings(TypedDict, total=False):
    """Settings of how a pipeline runs."""

    restart: Restart | None
    spark: SparkSettings | None
    rest: Rest | None
    telemetry: Telemetry | None


class Pipeline:
    """A pipeline that can be started."""

    def __init__(  # noqa: PLR0913 - the parts of a pipeline, each by its name
        self,
        name: str,
        *,
        source: KafkaSource | None = None,
        sources: Mapping[str, KafkaSource] | None = None,
        sink: SinkKind,
        checkpointing: Checkpointing,
        transform: Transformation | None = None,
        participants: Sequence[object] = (),
        **settings: Unpack[Settings],
    ) -> None:
        """Check that the parts fit together, without connecting to or starting anything.

        With `sources`, the transformation takes one DataFrame per source, as a keyword argument of its name.
        Snapshots of `participants=[a, b]` run in parallel, those of `[[a, b]]` one after the other.
        """
        given = {"source": source, "sources": sources, **settings}
        parts = {key: value for key, value in given.items() if value is not None}
        self.config = Config(name=name, sink=sink, checkpointing=checkpointing, **parts)
        self._transform = transform
        self._participants = Participants(list(participants))

    def start(
        self,
        *,
        fresh: bool = False,
        from_savepoint: str | None = None,
        allow_non_restored_state: bool = False,
        claim_mode: str = "no-claim",
        claim_table: bool = False,
    ) -> RunningPipeline:
        """Run every start-up check and start the job, by default from its newest checkpoint.

        `from_savepoint` is the path of a savepoint; with `claim_mode="claim"` it is removed after the first checkpoint.
        `claim_table` takes over the HBase table of another pipeline that no longer writes it.

        Raises:
            MilepostError: a check failed; it says what is wrong and how to fix it.
        """
        options = StartOptions(
            fresh=fresh,
            allow_non_restored_state=allow_non_restored_state,
            savepoint=requested_savepoint(from_savepoint, fresh=fresh),
            claim_mode=claim_mode_of(claim_mode),
            table=TableUse.TAKE_OVER if claim_table else TableUse.CLAIM,
        )
        with ExitStack() as stack:
            # Refuse a port that is in use before anything starts.
            listener = stack.enter_context(Listener.open(self.config.rest)) if self.config.rest else None
            require_not_running(self.config)
            require_startable(self.config, Path.cwd(), options)
            opened = open_job(
                self.config,
                Path.cwd(),
                make_table_check(self.config),
                transformation=self._transform,
                participants=self._participants,
                options=options,
            )
            spec = stack.enter_context(opened)
            recover_from_damage(spec)
            job = start_job(prepare_by_strategy(spec, _log_restart))
            address = stack.enter_context(serve_job(listener, job, self.config)) if listener else None
            return RunningPipeline(job, stack.pop_all(), address)


def _log_restart(error: MilepostError, delay: float) -> None:
    log.warning("%s. Trying again in %.1f s", error.what, delay)


class RunningPipeline:
    """A started pipeline; as a context manager, it cancels the job at the next boundary."""

    def __init__(self, job: Job, session: ExitStack, address: Address | None = None) -> None:
        """Watch the job until it ends, then close its session; users call `Pipeline.start`."""
        self.address = address
        """The address of the REST interface; None without a `rest` section."""
        self._job = job
        self._last = job.progress()
        self._watcher = threading.Thread(target=self._watch, args=(session,), name="job-watcher")
        self._watcher.start()

    @property
    def job_id(self) -> str:
        """Return the id of this run."""
        return self._job.job_id

    @property
    def status(self) -> JobStatus:
        """Return the status of the job, one of Flink's."""
        return self._job.status

    def progress(self) -> Progress:
        """Return the progress of the job, as of a moment ago."""
        return self._last

    def checkpoint(self, timeout: float | None = None) -> CompletedCheckpoint:
        """Take a checkpoint now and return it once it is complete.

        Raises:
            MilepostError: the checkpoint failed.
            TimeoutError: it is not complete after `timeout` seconds.
        """
        return self._job.trigger_checkpoint().result(timeout)

    def checkpoints(self) -> list[CompletedCheckpoint | FailedCheckpoint]:
        """Return the latest completed and failed checkpoints, newest first, including those of earlier runs."""
        stats = self._job.checkpoints
        with stats.changed:
            return [*reversed(stats.stats.history)]

    def attach(self, key: str, value: Value) -> None:
        """Store JSON or bytes with the next checkpoint; participants get it back when a job starts from it."""
        self._job.attach(key, value)

    def savepoint(self, directory: str | None = None, timeout: float | None = None) -> Savepoint:
        """Take a savepoint while the job keeps running, and return it once it is complete.

        It is written to `directory`, or to `checkpointing.savepoint_dir` by default.

        Raises:
            MilepostError: there is no savepoint; the error says why.
            TimeoutError: it is not complete after `timeout` seconds.
        """
        return self._job.trigger_savepoint(_absolute(directory)).result(timeout)

    def stop(self, *, savepoint_dir: str | None = None, drain: bool = False) -> JobStatus:
        """Stop at the next boundary with a savepoint, as in Flink, and return the final status, FINISHED.

        The savepoint is written to `savepoint_dir`, or to `checkpointing.savepoint_dir` by default. If neither is
        set, this is `cancel`. With `drain`, windows and other results that wait for event time are emitted first.
        """
        if savepoint_dir is None and self._job.savepoint_dir is None and not drain:
            return self.cancel()
        self._job.stop_with_savepoint(_absolute(savepoint_dir), drain=drain).result()
        return self.wait()

    def cancel(self) -> JobStatus:
        """Stop at the next boundary without a savepoint, and return the final status."""
        self._job.cancel()
        return self.wait()

    def wait(self, timeout: float | None = None) -> JobStatus:
        """Wait for the end of the job, at most `timeout` seconds, and return its status.

        Raises:
            MilepostError: the job failed.
        """
        self._watcher.join(timeout)
        if self._job.error is not None:
            raise self._job.error
        return self._job.status

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._job.cancel()
        self._watcher.join()

    def _watch(self, session: ExitStack) -> None:
        with session:
            self._job.wait(self._look)

    def _look(self, progress: Progress) -> None:
        self._last = progress


def _absolute(directory: str | None) -> str | None:
    return None if directory is None else absolute_directory(directory)
