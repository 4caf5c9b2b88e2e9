"""The Python face of a pipeline: the same names as in the YAML, and a function as the transformation."""

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
from milepost.checkpoint.savepoint.claim import asked_for, claim_mode_of
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
from milepost.job.startup.early_checks import look_at_table, require_not_running, require_startable
from milepost.job.startup.resume import prepare_by_strategy
from milepost.job.startup.table_ownership import TableUse
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job
from milepost.rest.server.server import Address, Listener, serving
from milepost.transform import Transformation

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

log = logging.getLogger(__name__)


class Settings(TypedDict, total=False):
    """How a pipeline is run, beside what it is."""

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
        """Check how the parts fit together; nothing is reached or started by this.

        With `sources` the transformation takes one DataFrame per source, as keyword arguments of these names.
        `participants=[a, b]` take their snapshots side by side, `[[a, b]]` one after the other.
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
        """Run every start-up check and start the job, from its newest checkpoint unless told otherwise.

        `from_savepoint` is the path of a savepoint; with `claim_mode="claim"` it is removed after the first checkpoint.
        `claim_table` takes the HBase table over from another pipeline that no longer writes it.
        """
        options = StartOptions(
            fresh=fresh,
            allow_non_restored_state=allow_non_restored_state,
            savepoint=asked_for(from_savepoint, fresh=fresh),
            claim_mode=claim_mode_of(claim_mode),
            table=TableUse.TAKE_OVER if claim_table else TableUse.CLAIM,
        )
        with ExitStack() as stack:
            # A port that is taken is refused before anything starts.
            listener = stack.enter_context(Listener.open(self.config.rest)) if self.config.rest else None
            require_not_running(self.config)
            require_startable(self.config, Path.cwd(), options)
            opened = open_job(
                self.config,
                Path.cwd(),
                look_at_table(self.config),
                transformation=self._transform,
                participants=self._participants,
                options=options,
            )
            spec = stack.enter_context(opened)
            recover_from_damage(spec)
            job = start_job(prepare_by_strategy(spec, _log_restart))
            address = stack.enter_context(serving(listener, job, self.config)) if listener else None
            return RunningPipeline(job, stack.pop_all(), address)


def _log_restart(error: MilepostError, delay: float) -> None:
    log.warning("%s. Asking again in %.1f s", error.what, delay)


class RunningPipeline:
    """A started pipeline. Also a context manager that stops it at a boundary."""

    def __init__(self, job: Job, session: ExitStack, address: Address | None = None) -> None:
        """Watch the job until it ends, then close its session."""
        self.address = address
        """Where the job is reached over REST, where the pipeline has a `rest` section."""
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
        """Return where the job stands."""
        return self._job.status

    def progress(self) -> Progress:
        """Return what the job has done so far."""
        return self._last

    def checkpoint(self, timeout: float | None = None) -> CompletedCheckpoint:
        """Take a checkpoint now and return it when it is complete; raise CheckpointError where it fails."""
        return self._job.trigger_checkpoint().result(timeout)

    def checkpoints(self) -> list[CompletedCheckpoint | FailedCheckpoint]:
        """Return the newest checkpoints that completed or failed, newest first; earlier runs' included."""
        stats = self._job.checkpoints
        with stats.changed:
            return [*reversed(stats.stats.history)]

    def attach(self, key: str, value: Value) -> None:
        """Store JSON or bytes with the next checkpoint; a start from that one gives it back to the participants."""
        self._job.attach(key, value)

    def savepoint(self, directory: str | None = None, timeout: float | None = None) -> Savepoint:
        """Take a savepoint while the job goes on, and return it when it is whole; raise why where there is none.

        It lies in `directory`, or else in `checkpointing.savepoint_dir`.
        """
        return self._job.trigger_savepoint(_absolute(directory)).result(timeout)

    def stop(self, *, savepoint_dir: str | None = None, drain: bool = False) -> JobStatus:
        """Stop at the next boundary and return how the job ended.

        As in Flink, with a savepoint: in `savepoint_dir`, or else in `checkpointing.savepoint_dir`; the job is then
        FINISHED. Where neither is set this is `cancel`. `drain` also emits what waits for event time to go on.
        """
        if savepoint_dir is None and self._job.savepoint_dir is None and not drain:
            return self.cancel()
        self._job.stop_with_savepoint(_absolute(savepoint_dir), drain=drain).result()
        return self.wait()

    def cancel(self) -> JobStatus:
        """Stop at the next boundary without a savepoint, and return how the job ended."""
        self._job.cancel()
        return self.wait()

    def wait(self, timeout: float | None = None) -> JobStatus:
        """Wait for the end, at most `timeout` seconds; raise the reason of a job that failed."""
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
