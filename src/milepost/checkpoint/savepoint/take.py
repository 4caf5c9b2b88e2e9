"""Takes the savepoints of a job, one at a time, of checkpoints that complete; the stream does not wait for them."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Protocol

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.requests import Pin, Request
from milepost.checkpoint.savepoint import drain
from milepost.checkpoint.savepoint.copy import lower_priority
from milepost.checkpoint.savepoint.manifest import Savepoint, SavepointTrigger, name_of
from milepost.checkpoint.savepoint.write import Draft, drop, finish, kept, pin, sweep
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.identity import JobIdentity
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.store.unwritable import storage_error
from milepost.errors import MilepostError, SavepointError, SavepointInProgressError

log = logging.getLogger(__name__)


class Coordinator(Protocol):
    """Takes checkpoints."""

    def trigger(self, pin: Pin | None = None) -> Request:
        """Ask for a checkpoint, and be called in step 8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What savepoints are taken of."""

    store: Store
    """The checkpoint directory, whose lease is held."""
    job: JobIdentity
    outline: Mapping[str, Any]
    directory: str | None
    """Where savepoints go unless the request says otherwise."""


class Savepoints:
    """The savepoints of one run of a job. Every method may be called from any thread."""

    def __init__(
        self, subject: Subject, coordinator: Coordinator, redact: Callable[[str], str] = str
    ) -> None:
        """Take nothing yet."""
        self._subject = subject
        self._coordinator = coordinator
        self._redact = redact
        self._lock = threading.Lock()
        self._current: _Taking | None = None

    def trigger(
        self, directory: str | None = None, trigger: SavepointTrigger = SavepointTrigger.MANUAL
    ) -> Future[Savepoint]:
        """Take a savepoint of the next checkpoint; the future has it once it is complete, or the error."""
        taking = self._begin(directory, trigger)
        if not taking.future.done():
            self._coordinator.trigger(taking.pin).add_done_callback(taking.checkpointed)
        return taking.future

    def of_newest(self, directory: str | None = None) -> Future[Savepoint]:
        """Take a savepoint of the newest completed checkpoint, after which nothing runs any more."""
        taking = self._begin(directory, SavepointTrigger.STOP)
        if not taking.future.done():
            newest = CheckpointFiles(self._subject.store).newest()
            if newest is not None:
                taking.pin(newest)
            taking.go_on()
        return taking.future

    @property
    def default_directory(self) -> str | None:
        """Where savepoints go unless the request names another directory."""
        return self._subject.directory

    def directory(self, directory: str | None = None) -> str:
        """Return where a savepoint goes, or refuse if no directory is known."""
        chosen = directory or self.default_directory
        if chosen is None:
            raise SavepointError(
                "There is no directory for the savepoint",
                why="checkpointing.savepoint-dir is not set, and the request names none",
                fix="Set checkpointing.savepoint-dir, or name a directory in the request",
            )
        return chosen

    def refuse_drain(self) -> SavepointError | None:
        """Return why the stream cannot be drained, None if it can."""
        return drain.refusal(self._subject.store)

    @property
    def is_busy(self) -> bool:
        """Return whether a savepoint is being taken."""
        return self._current is not None

    def close(self, timeout: float) -> None:
        """Wait for the savepoint that is being written; the job has ended, and its pinned files stay pinned."""
        taking = self._current
        if taking is not None and taking.thread is not None:
            taking.thread.join(timeout)

    def _begin(self, directory: str | None, trigger: SavepointTrigger) -> _Taking:
        taking = _Taking(self._subject, trigger, self._end, self._redact)
        try:
            with self._lock:
                if self._current is not None:
                    raise SavepointInProgressError(
                        "A savepoint of this job is being taken",
                        why="only one savepoint can be taken at a time",
                        fix="Wait until it has finished, and try again",
                    )
                taking.target = Store.at(self.directory(directory))
                self._current = taking
            # The lease is ours, so no other driver writes the unfinished savepoints of this checkpoint directory.
            sweep(self._subject.store, taking.target)
        except (OSError, MilepostError) as error:
            taking.refuse(error, was_begun=self._current is taking)
        return taking

    def _end(self) -> None:
        with self._lock:
            self._current = None


class _Taking:
    """One savepoint that is being taken."""

    def __init__(
        self,
        subject: Subject,
        trigger: SavepointTrigger,
        at_end: Callable[[], None],
        redact: Callable[[str], str],
    ) -> None:
        self.future: Future[Savepoint] = Future()
        self.future.set_running_or_notify_cancel()
        self.target: Store | None = None
        self.thread: threading.Thread | None = None
        self._subject = subject
        self._trigger = trigger
        self._at_end = at_end
        self._redact = redact
        self._draft: Draft | None = None
        self._error: Exception | None = None

    def refuse(self, error: Exception, *, was_begun: bool) -> None:
        """Report why the savepoint is refused; another one that is being taken continues."""
        if not was_begun:
            self._at_end = lambda: None
        self._fail(error)

    def pin(self, checkpoint: CompletedCheckpoint) -> None:
        """Step 8: hold the files."""
        try:
            assert self.target is not None  # otherwise no checkpoint would have been requested
            self._draft = pin(self._subject.store, self.target, self._of(checkpoint))
        except Exception as error:  # a savepoint that fails must not fail the checkpoint
            self._error = error

    def checkpointed(self, request: Future[CompletedCheckpoint]) -> None:
        """Step 9 is over, or there is no checkpoint."""
        error = request.exception()
        if error is not None:
            self._fail(error)
        else:
            self.go_on()

    def go_on(self) -> None:
        """Begin the second phase, on a thread of its own."""
        if self._draft is None:
            self._fail(
                self._error or SavepointError("No checkpoint has completed yet", fix="Wait for the first")
            )
            return
        # It includes what step 9 has committed.
        self._draft = replace(self._draft, kept=kept(self._subject.store))
        self.thread = threading.Thread(target=self._finish, name="savepoint", daemon=True)
        self.thread.start()

    def _finish(self) -> None:
        assert self._draft is not None
        lower_priority()
        try:
            savepoint = finish(self._draft)
        except Exception as error:
            with suppress(Exception):
                drop(self._draft)
            self._fail(error)
            return
        self._at_end()
        self.future.set_result(savepoint)

    def _fail(self, error: BaseException) -> None:
        known = error if isinstance(error, MilepostError) else self._failure(error)
        log.warning("%s", known)
        self._at_end()
        self.future.set_exception(known)

    def _failure(self, error: BaseException) -> SavepointError:
        if isinstance(error, OSError):
            told = storage_error(error)
            return SavepointError(
                self._redact(f"The savepoint failed. {told.what}"), why=self._redact(told.why), fix=told.fix
            )
        return SavepointError(
            f"The savepoint failed: {self._redact(str(error))}",
            why="a file could not be read from the checkpoint directory or written to the savepoint directory",
            fix="Check that both exist, have free space, and can be read and written by this user",
        )

    def _of(self, checkpoint: CompletedCheckpoint) -> Savepoint:
        assert self.target is not None
        job = self._subject.job
        name = name_of(job.job_id, uuid.uuid4().hex)
        return Savepoint(
            path=self.target.address(name).rstrip("/"),
            name=name,
            checkpoint_id=checkpoint.checkpoint_id,
            trigger=self._trigger,
            taken_at=checkpoint.completed_at,
            job_name=job.name,
            job_id=job.job_id,
            directory=self._subject.store.address("").rstrip("/"),
            written_by=f"milepost {version('milepost')}",
            outline=self._subject.outline,
        )
