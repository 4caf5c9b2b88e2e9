"""Every error that Milepost raises deliberately; any other exception is a bug.

    MilepostError
    ├── ConfigError          exit 2   the file or the arguments are wrong; all faults are listed
    ├── PreflightError       exit 2   a start-up check refused; nothing was started
    ├── NotReachableError    exit 3   a broker, table, job or file does not exist or does not respond
    ├── LeaseHeldError       exit 3   another driver uses the same checkpoint directory
    │   └── FencedError      exit 3   … and took over while this one was paused
    ├── JobFailedError       exit 1   the job ran and failed
    │   ├── FatalJobError    exit 1   … with a cause that remains after a restart
    │   │   └── TopicRecreatedError  exit 1   a topic was deleted and created again
    │   ├── StorageError     exit 1   … because a directory is full, read-only or not permitted
    │   ├── WriteExpiredError  exit 1   … because the sink did not respond within the timeout of a checkpoint
    │   ├── UnknownTopicError  exit 1   … because Kafka does not know a topic, perhaps only temporarily
    │   ├── CheckpointError  exit 1   … because a checkpoint could not be taken
    │   └── ParticipantError exit 1   … because a participant's hook raised, hung, or returned an unsupported value
    │       ├── SnapshotDeclined  exit 1   a participant declined a checkpoint
    │       └── SnapshotExpired   exit 1   participants did not acknowledge a checkpoint in time
    ├── SavepointError       exit 1   a savepoint could not be taken; the job continues
    │   └── SavepointInProgressError  exit 1   … because another one is in progress
    ├── ServicesError        exit 1   the embedded Kafka or HBase could not be started or stopped
    └── VerificationError    exit 4   the table differs from the log

Each has `exit_code` and `retryable`; commands and the restart logic read these, never the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from milepost.sentence import join_sentences


@dataclass(frozen=True, slots=True)
class ConfigFault:
    """One error in a configuration, at the key path as the user wrote it."""

    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        """Return `path (line n): message`, without unknown parts."""
        place = " ".join(part for part in (self.path, f"(line {self.line})" if self.line else "") if part)
        return f"{place}: {self.message}" if place else self.message


class MilepostError(Exception):
    """An error a person can act on: what happened, why, and how to fix it."""

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        """Keep the three parts separate, so that each interface can format them."""
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        """Return the parts that are present as sentences on one line."""
        return join_sentences((self.what, self.why, self.fix))

    def map_text(self, change: Callable[[str], str]) -> MilepostError:
        """Return the same error with each part changed, for example with secrets masked."""
        error = _restore(type(self), dict(self.__dict__), self.what)
        error.what, error.why, error.fix = change(self.what), change(self.why), change(self.fix)
        return error

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling: Spark sends errors between processes."""
        return (_restore, (type(self), dict(self.__dict__), self.what))


class ConfigError(MilepostError):
    """The configuration is wrong; nothing was started."""

    exit_code = 2

    def __init__(
        self, what: str, *, why: str = "", fix: str = "", faults: Iterable[ConfigFault] = ()
    ) -> None:
        """List all faults; `faults` may be empty if the input is unreadable."""
        super().__init__(what, why=why, fix=fix)
        self.faults: tuple[ConfigFault, ...] = tuple(faults)

    def __str__(self) -> str:
        """Return what is wrong, then one line per fault."""
        return "\n".join([super().__str__(), *(f"  - {fault}" for fault in self.faults)])


class PreflightError(MilepostError):
    """A start-up check refused the start; nothing was started."""

    exit_code = 2


class NotReachableError(MilepostError):
    """Something that the user named was not found or does not respond."""

    exit_code = 3
    retryable = True


class LeaseHeldError(MilepostError):
    """Another driver uses the same checkpoint directory; nothing was started."""

    exit_code = 3


class FencedError(LeaseHeldError):
    """Another driver has taken over the checkpoint directory; this one must no longer write to it."""


class JobFailedError(MilepostError):
    """The job was running and failed."""

    exit_code = 1
    retryable = True
    participants: tuple[str, ...] = ()
    """The participants that failed, if known."""


class FatalJobError(JobFailedError):
    """The job failed with a cause that remains after a restart."""

    retryable = False


class TopicRecreatedError(FatalJobError):
    """A topic of the source was deleted and perhaps created again: the offsets are invalid in it."""


class StorageError(JobFailedError):
    """A file in a directory of the job could not be written or read."""


class WriteExpiredError(JobFailedError):
    """The sink did not respond within the time limit of a checkpoint."""


class UnknownTopicError(JobFailedError):
    """Kafka does not know a topic of the source: it is gone, or its leader is being elected."""


class CheckpointError(JobFailedError):
    """A checkpoint could not start or did not complete."""


class ParticipantError(JobFailedError):
    """A hook of a participant raised, hung, or returned a value that cannot be stored.

    `participants` are their names; `why` contains the traceback of their code if there is one.
    """

    def __init__(self, what: str, *, why: str = "", fix: str = "", participants: Iterable[str] = ()) -> None:
        """Keep the names separate from the text."""
        super().__init__(what, why=why, fix=fix)
        self.participants = tuple(participants)


class SnapshotDeclined(ParticipantError):
    """A participant declined a checkpoint: its snapshot raised, or could not start."""


class SnapshotExpired(ParticipantError):
    """A checkpoint timed out; `participants` are those that did not acknowledge it.

    `hanging` are those of them whose snapshot has not returned; the others wait for them.
    """

    def __init__(
        self,
        what: str,
        *,
        why: str = "",
        fix: str = "",
        participants: Iterable[str] = (),
        hanging: Iterable[str] = (),
    ) -> None:
        """Keep the hanging participants separate from those that could not start."""
        super().__init__(what, why=why, fix=fix, participants=participants)
        self.hanging: tuple[str, ...] = tuple(hanging)


class SavepointError(MilepostError):
    """A savepoint could not be taken; the job continues without it."""

    exit_code = 1
    retryable = True


class SavepointInProgressError(SavepointError):
    """Another savepoint of the same job is being taken."""


class ServicesError(MilepostError):
    """The embedded Kafka or HBase could not be started, used or stopped."""

    exit_code = 1


class VerificationError(MilepostError):
    """The table differs from the log."""

    exit_code = 4


def _restore(kind: type[MilepostError], state: dict[str, object], what: str) -> MilepostError:
    error = kind.__new__(kind, what)
    error.__dict__.update(state)
    return error
