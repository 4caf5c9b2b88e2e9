"""The checkpoints of a directory, newest first: stored ones from their manifests, all others from the history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from itertools import islice

from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint, FailedCheckpoint, Kind, kind_of
from milepost.checkpoint.participants.value import size_of
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.history import Event, History
from milepost.checkpoint.store.spark_log import batch_ids
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

_LATEST = datetime.max.replace(tzinfo=timezone.utc)


class Status(Enum):
    """Whether a restart can use a checkpoint."""

    COMPLETED = "stored: a restart or a rollback can use it"
    DISCARDED = "completed, but no longer stored"
    FAILED = "started, but aborted"
    DAMAGED = "stored, but its manifest cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointEntry:
    """A checkpoint in the list; unknown values are None."""

    checkpoint_id: int
    status: Status
    trigger: str | None = None
    triggered_at: datetime | None = None
    ended_at: datetime | None = None
    rows: int | None = None
    bytes: int | None = None
    """The bytes that the writers wrote."""
    acknowledged: int | None = None
    expected: int | None = None
    state_bytes: int | None = None
    """The size of the state of operators and, if the manifest is stored, of participants."""
    reason: str | None = None
    """Why the checkpoint failed or cannot be read."""

    @property
    def duration_ms(self) -> int | None:
        """The time from the trigger to the end."""
        if self.triggered_at is None or self.ended_at is None:
            return None
        return round((self.ended_at - self.triggered_at).total_seconds() * 1000)


@dataclass(frozen=True, slots=True)
class Listing:
    """The newest checkpoints, and the number of stored ones."""

    entries: tuple[CheckpointEntry, ...]
    stored: int
    is_cut: bool
    """Whether there are more checkpoints than the limit."""
    spark_batch: int | None = None
    """The newest batch that Spark has committed, if there are no checkpoints of Milepost."""


def find_checkpoints(store: Store, limit: int | None) -> Listing:
    """Return the newest checkpoints; a limit of None returns all and reads every manifest."""
    files = CheckpointFiles(store)
    ids = files.ids()
    found = _Collector(ids)
    for checkpoint_id in reversed(ids[-limit:] if limit else ids):
        found.add_stored(files, checkpoint_id)
    # One more than the limit shows that there are more.
    for event in islice(_of_checkpoints(History(store).events()), limit and limit + 1):
        found.add_event(event)
    entries = found.entries()
    if not entries:
        return Listing((), 0, False, max(batch_ids(store, names.COMMITS), default=None))
    cut = entries[:limit] if limit else entries
    return Listing(tuple(cut), len(ids), len(entries) > len(cut) or len(ids) > len(cut))


class _Collector:
    """Combines manifests and history; manifests take precedence."""

    def __init__(self, ids: Sequence[CheckpointId]) -> None:
        self._ids = frozenset(ids)
        self._stored: dict[int, CompletedCheckpoint] = {}
        self._damaged: dict[int, str] = {}
        self._events: list[CheckpointEntry] = []

    def add_stored(self, files: CheckpointFiles, checkpoint_id: CheckpointId) -> None:
        try:
            stored = files.get(checkpoint_id)
        except PreflightError as error:
            self._damaged[checkpoint_id] = error.why
            return
        # A checkpoint that retention has just removed is in the history.
        if stored is not None:
            self._stored[checkpoint_id] = stored

    def add_event(self, event: CompletedCheckpoint | FailedCheckpoint) -> None:
        checkpoint_id = event.checkpoint_id
        if isinstance(event, FailedCheckpoint):
            self._events.append(_failed(event))
            return
        stored = self._stored.get(checkpoint_id)
        if stored is not None and stored.triggered_at == event.triggered_at:
            return
        if checkpoint_id in self._damaged:
            self._events.append(_completed(event, Status.DAMAGED, self._damaged.pop(checkpoint_id)))
            return
        # The same id may be from before --fresh.
        is_stored = checkpoint_id in self._ids and stored is None
        self._events.append(_completed(event, Status.COMPLETED if is_stored else Status.DISCARDED))

    def entries(self) -> list[CheckpointEntry]:
        stored = [_completed(each, Status.COMPLETED) for each in self._stored.values()]
        damaged = [
            CheckpointEntry(checkpoint_id=checkpoint_id, status=Status.DAMAGED, reason=why)
            for checkpoint_id, why in self._damaged.items()
        ]
        return sorted([*damaged, *self._events, *stored], key=_age, reverse=True)


def _age(entry: CheckpointEntry) -> tuple[datetime, int]:
    # Entries without a time are damaged and come first.
    return (entry.ended_at or _LATEST, entry.checkpoint_id)


def _of_checkpoints(events: Iterable[Event]) -> Iterator[CompletedCheckpoint | FailedCheckpoint]:
    return (event for event in events if isinstance(event, CompletedCheckpoint | FailedCheckpoint))


def _completed(checkpoint: CompletedCheckpoint, status: Status, reason: str | None = None) -> CheckpointEntry:
    acks = checkpoint.acknowledgements
    return CheckpointEntry(
        checkpoint_id=checkpoint.checkpoint_id,
        status=status,
        trigger=checkpoint.trigger.name,
        triggered_at=checkpoint.triggered_at,
        ended_at=checkpoint.completed_at,
        rows=checkpoint.rows,
        bytes=sum(ack.bytes for ack in acks if ack.participant.startswith("writer/")),
        acknowledged=len(acks),
        expected=len(acks),
        state_bytes=sum(ack.bytes for ack in acks if kind_of(ack.participant) is Kind.STATE)
        + sum(map(size_of, checkpoint.states.values())),
        reason=reason,
    )


def _failed(checkpoint: FailedCheckpoint) -> CheckpointEntry:
    return CheckpointEntry(
        checkpoint_id=checkpoint.checkpoint_id,
        status=Status.FAILED,
        trigger=checkpoint.trigger.name,
        triggered_at=checkpoint.triggered_at,
        ended_at=checkpoint.failed_at,
        acknowledged=checkpoint.acknowledged,
        expected=checkpoint.waiting_for,
        reason=": ".join(part for part in (checkpoint.reason.name, checkpoint.detail) if part),
    )
