"""The words of the spine: what a checkpoint is at each point of its life. Values only; nothing here acts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, NewType, TypeAlias

CheckpointId = NewType("CheckpointId", int)
"""Also the id of the Spark batch that the checkpoint is."""

Offsets = Mapping[str, Mapping[int, int]]
"""Next offset to read, by topic and partition."""

Value: TypeAlias = Any
"""What a participant may store: JSON values or bytes."""


class Trigger(Enum):
    """What triggered a checkpoint."""

    PERIODIC = "the interval has passed"
    ON_DEMAND = "it was requested"
    SAVEPOINT = "a savepoint was requested"
    SYNC_SAVEPOINT = "the job stops with a savepoint"
    ENGINE = "Spark started the batch by itself: a replay, or a batch without new records"


class FailureReason(Enum):
    """Why a checkpoint was not triggered or did not complete, under Flink's names."""

    TOO_MANY_CHECKPOINT_REQUESTS = ("The maximum number of checkpoints is already in flight.", True)
    MINIMUM_TIME_BETWEEN_CHECKPOINTS = (
        "The minimum pause since the last completed checkpoint has not passed.",
        True,
    )
    NOT_ALL_REQUIRED_TASKS_RUNNING = ("The job is not running, so no task could acknowledge.", True)
    CHECKPOINT_EXPIRED = ("Checkpoint expired before completing.", False)
    CHECKPOINT_SUBSUMED = ("A newer checkpoint has completed.", False)
    CHECKPOINT_DECLINED = ("A participant declined it.", False)
    CHECKPOINT_COORDINATOR_SHUTDOWN = ("The job has ended.", False)
    CHECKPOINT_COORDINATOR_SUSPEND = ("The job was stopped before its batch was committed.", False)
    TASK_FAILURE = ("A task of its batch failed.", False)
    UNKNOWN_TASK_CHECKPOINT_NOTIFICATION_FAILURE = ("A listener failed when it was notified.", False)
    FINALIZE_CHECKPOINT_FAILURE = ("It could not be stored.", False)
    TRIGGER_CHECKPOINT_FAILURE = ("The engine could not be triggered.", False)
    FENCED = ("Another driver has taken over the checkpoint directory.", False)
    TOPIC_RECREATED = ("A topic of the source was recreated after the job started.", False)

    def __init__(self, sentence: str, is_preflight: bool) -> None:
        self.sentence = sentence
        self.is_preflight = is_preflight


class Kind(Enum):
    """What a participant of a checkpoint is."""

    WRITER = "writer"
    STATE = "state"
    SINK = "sink"
    """The sink as a whole, where it commits with the checkpoint."""
    PARTICIPANT = "participant"
    ENGINE = "engine"
    """Spark, where it is not known which of its tasks."""


ENGINE = "engine"


def kind_of(participant: str) -> Kind:
    """Return what a participant is, by its name: those of users never begin like the built-in ones."""
    for prefix, kind in (("writer/", Kind.WRITER), ("state/", Kind.STATE), ("sink.", Kind.SINK)):
        if participant.startswith(prefix):
            return kind
    return Kind.ENGINE if participant == ENGINE else Kind.PARTICIPANT


class AckResult(Enum):
    """What an acknowledgement turned out to be."""

    SUCCESS = "counted"
    DUPLICATE = "this participant had already acknowledged"
    UNKNOWN = "not a participant of this checkpoint"
    DISCARDED = "the checkpoint was already aborted or completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """One participant's confirmation that everything before the boundary is durable."""

    participant: str
    at: datetime
    duration_ms: int = 0
    """How long it took: the flushes of a writer, the commit of a state store, a snapshot in Python."""
    rows: int = 0
    bytes: int = 0
    """What was written, or the size of the state."""
    details: Mapping[str, Value] = field(default_factory=dict)
    """Values that only this kind of participant reports, as JSON."""


@dataclass(frozen=True, slots=True)
class Declined:
    """The verdict on a checkpoint that cannot be sealed: its batch fails for this reason."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCheckpoint:
    """A checkpoint that was triggered and still lacks acknowledgements."""

    checkpoint_id: CheckpointId
    trigger: Trigger
    triggered_at: datetime
    deadline: float
    """When it expires, on the monotonic clock."""
    waiting_for: frozenset[str] = frozenset()
    """The known participants that must acknowledge. Names are added and never removed within a checkpoint."""
    has_tasks: bool = False
    """Whether the tasks of its batch are known, and with them every participant that must acknowledge."""
    acknowledged: Mapping[str, Acknowledgement] = field(default_factory=dict)

    @property
    def expected(self) -> int | None:
        """Return how many acknowledgements complete it, or None until its batch has its tasks."""
        return len(self.waiting_for | self.acknowledged.keys()) if self.has_tasks else None

    @property
    def missing(self) -> frozenset[str]:
        """Return the participants that have not acknowledged yet."""
        return self.waiting_for - self.acknowledged.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedCheckpoint:
    """A checkpoint that is fully acknowledged and is in Spark's commit log."""

    checkpoint_id: CheckpointId
    trigger: Trigger
    triggered_at: datetime
    completed_at: datetime
    job_id: str
    epoch: int
    """The lease's epoch under which it was sealed."""
    sources: tuple[Offsets, ...] = ()
    """Where each source stood at the boundary, in Spark's order."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, Value] = field(default_factory=dict)
    """The eras of each topic by which versions were made of offsets, if they were."""
    acknowledgements: tuple[Acknowledgement, ...] = ()
    states: Mapping[str, Value] = field(default_factory=dict)
    """The state of each Python participant, by its name."""
    extra: Mapping[str, Value] = field(default_factory=dict)
    """What users attached to it."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """The bad records of its batch, by reason."""
    late: Mapping[str, int] = field(default_factory=dict)
    """The records of its batch that operators dropped because they were late, by topic."""
    late_total: Mapping[str, int] = field(default_factory=dict)
    """The same of this checkpoint and of all that it follows from."""

    @property
    def duration_ms(self) -> int:
        """Return the time from the trigger to the completion."""
        return round((self.completed_at - self.triggered_at).total_seconds() * 1000)

    @property
    def state_size(self) -> int:
        """Return the bytes of all state, as state stores and participants report them."""
        return sum(a.bytes for a in self.acknowledgements if kind_of(a.participant) is not Kind.WRITER)

    @property
    def rows(self) -> int:
        """Return how many rows the writers wrote."""
        return sum(a.rows for a in self.acknowledgements if a.participant.startswith("writer/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedBy:
    """The participant that made a checkpoint fail, and its error; without secrets."""

    participant: str
    sentence: str
    traceback: str = ""
    """The frames of the user's own code, where it raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCheckpoint:
    """A checkpoint that was started and aborted."""

    checkpoint_id: CheckpointId
    trigger: Trigger
    triggered_at: datetime
    failed_at: datetime
    reason: FailureReason
    detail: str = ""
    """The cause in a sentence; without secrets."""
    acknowledged: int = 0
    waiting_for: int = 0
    acknowledgements: tuple[Acknowledgement, ...] = ()
    """The acknowledgements so far. Lines of older versions have only the counts."""
    missing: tuple[str, ...] = ()
    failed_by: tuple[FailedBy, ...] = ()
    """Empty where no participant made it fail: a lost lease, a full disk, the end of the job."""
