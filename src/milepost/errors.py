"""Every error Milepost raises on purpose; anything else that escapes is a bug.

    MilepostError
    ├── ConfigError          exit 2   the file or the arguments are wrong; every fault is listed
    ├── PreflightError       exit 2   a start-up check refused; nothing was started
    ├── NotReachableError    exit 3   a broker, table, job or file is not there or does not answer
    ├── LeaseHeldError       exit 3   another driver runs on the same checkpoint directory
    │   └── FencedError      exit 3   … and has taken over while this one was paused
    ├── JobFailedError       exit 1   the job ran and failed
    │   ├── FatalJobError    exit 1   … of what a restart would only meet again
    │   │   └── TopicRecreatedError  exit 1   a topic was deleted and created again
    │   ├── StorageError     exit 1   … of a directory that took no file: full, read-only, not permitted
    │   ├── WriteExpiredError  exit 1   … of a sink that did not answer within the time of a checkpoint
    │   ├── UnknownTopicError  exit 1   … of a topic that Kafka does not know, perhaps for a moment only
    │   ├── CheckpointError  exit 1   … of a checkpoint that could not be taken
    │   └── ParticipantError exit 1   … of a participant: a hook raised, did not return, or left what cannot be stored
    │       ├── SnapshotDeclined  exit 1   one of them declined a checkpoint
    │       └── SnapshotExpired   exit 1   some did not acknowledge a checkpoint in time
    ├── SavepointError       exit 1   a savepoint could not be taken; the job goes on
    │   └── SavepointInProgressError  exit 1   … since another one is being taken
    ├── ServicesError        exit 1   the embedded Kafka or HBase could not be started or stopped
    └── VerificationError    exit 4   the table differs from the log

Each has `exit_code` and `retryable`: the commands and the restart logic read these, never the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from milepost.sentence import joined


@dataclass(frozen=True, slots=True)
class ConfigFault:
    """One thing that is wrong in a configuration, at the key path the user typed."""

    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        """Return `path (line n): message`, without the parts that are not known."""
        place = " ".join(part for part in (self.path, f"(line {self.line})" if self.line else "") if part)
        return f"{place}: {self.message}" if place else self.message


class MilepostError(Exception):
    """An error a person can act on: what happened, why, and how to fix it."""

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        """Keep the three parts apart so that a face can lay them out."""
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        """Return the parts that are present as sentences on one line."""
        return joined((self.what, self.why, self.fix))

    def map_text(self, change: Callable[[str], str]) -> MilepostError:
        """Return the same error with each part changed, for example with its secrets masked."""
        error = _restore(type(self), dict(self.__dict__), self.what)
        error.what, error.why, error.fix = change(self.what), change(self.why), change(self.fix)
        return error

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling: Spark carries errors between processes."""
        return (_restore, (type(self), dict(self.__dict__), self.what))


class ConfigError(MilepostError):
    """The configuration is wrong; nothing was started."""

    exit_code = 2

    def __init__(
        self, what: str, *, why: str = "", fix: str = "", faults: Iterable[ConfigFault] = ()
    ) -> None:
        """List every fault at once; `faults` may be empty where the whole input is unreadable."""
        super().__init__(what, why=why, fix=fix)
        self.faults: tuple[ConfigFault, ...] = tuple(faults)

    def __str__(self) -> str:
        """Return what is wrong, then one line per fault."""
        return "\n".join([super().__str__(), *(f"  - {fault}" for fault in self.faults)])


class PreflightError(MilepostError):
    """A start-up check refused what would have broken the job; nothing was started."""

    exit_code = 2


class NotReachableError(MilepostError):
    """Something named by the user was not found or does not answer."""

    exit_code = 3
    retryable = True


class LeaseHeldError(MilepostError):
    """Another driver runs on the same checkpoint directory; nothing was started."""

    exit_code = 3


class FencedError(LeaseHeldError):
    """Another driver has taken over the checkpoint directory; this one must not write to it any more."""


class JobFailedError(MilepostError):
    """The job was running and failed."""

    exit_code = 1
    retryable = True
    participants: tuple[str, ...] = ()
    """Who of those that acknowledge checkpoints has failed, where it is known."""


class FatalJobError(JobFailedError):
    """The job failed of something that is still there after a restart."""

    retryable = False


class TopicRecreatedError(FatalJobError):
    """A topic of the source was deleted, perhaps to be created again: the offsets mean nothing in it."""


class StorageError(JobFailedError):
    """A directory of the job did not take or give a file."""


class WriteExpiredError(JobFailedError):
    """The sink did not answer within the time that a checkpoint leaves for a write."""


class UnknownTopicError(JobFailedError):
    """Kafka does not know a topic of the source: it is gone, or its leader is being elected."""


class CheckpointError(JobFailedError):
    """A checkpoint was not begun, or did not complete."""


class ParticipantError(JobFailedError):
    """A hook of a participant raised, did not return, or left a value that cannot be stored.

    `participants` says of whom; `why` holds the traceback of their own code where there is one.
    """

    def __init__(self, what: str, *, why: str = "", fix: str = "", participants: Iterable[str] = ()) -> None:
        """Keep the names apart from the text, so that nobody has to read them out of it."""
        super().__init__(what, why=why, fix=fix)
        self.participants = tuple(participants)


class SnapshotDeclined(ParticipantError):
    """A participant declined a checkpoint: its snapshot raised, or could not even begin."""


class SnapshotExpired(ParticipantError):
    """A checkpoint's time was over before every participant had acknowledged it; they are in `participants`.

    `hanging` are those of them that were asked and have not returned; the others wait behind them.
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
        """Keep who hangs apart from who could not even begin."""
        super().__init__(what, why=why, fix=fix, participants=participants)
        self.hanging: tuple[str, ...] = tuple(hanging)


class SavepointError(MilepostError):
    """A savepoint could not be taken; the job goes on without it."""

    exit_code = 1
    retryable = True


class SavepointInProgressError(SavepointError):
    """Another savepoint of the same job is being taken."""


class ServicesError(MilepostError):
    """The embedded Kafka or HBase could not be started, used or stopped."""

    exit_code = 1


class VerificationError(MilepostError):
    """The table is not what the log says it must be."""

    exit_code = 4


def _restore(kind: type[MilepostError], state: dict[str, object], what: str) -> MilepostError:
    error = kind.__new__(kind, what)
    error.__dict__.update(state)
    return error
