"""The checkpoints of a directory, newest first: stored ones by their manifests, all others by the history."""

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
    """What a checkpoint is to somebody who wants to restart from it."""

    COMPLETED = "stored: a restart or a roll back can use it"
    DISCARDED = "completed, and no longer stored"
    FAILED = "begun, and aborted"
    DAMAGED = "stored, and its manifest cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One checkpoint on one line; what is not known is None."""

    checkpoint_id: int
    status: Status
    trigger: str | None = None
    triggered_at: datetime | None = None
    ended_at: datetime | None = None
    rows: int | None = None
    bytes: int | None = None
    """What the writers wrote."""
    acknowledged: int | None = None
    expected: int | None = None
    state_bytes: int | None = None
    """The size of the state of operators and participants; of participants only where the manifest is there."""
    reason: str | None = None
    """Why it failed, or why it cannot be read."""

    @property
    def duration_ms(self) -> int | None:
        """Return the time from its trigger to its end."""
        if self.triggered_at is None or self.ended_at is None:
            return None
        return round((self.ended_at - self.triggered_at).total_seconds() * 1000)


@dataclass(frozen=True, slots=True)
class Listing:
    """The newest checkpoints, and how many are stored in all."""

    entries: tuple[Listed, ...]
    stored: int
    is_cut: bool
    """Whether there are more than were asked for."""
    spark_batch: int | None = None
    """The newest batch that Spark has committed, where nothing of Milepost is there."""


def listed(store: Store, limit: int | None) -> Listing:
    """Return the newest checkpoints; None returns all, which reads every manifest."""
    files = CheckpointFiles(store)
    ids = files.ids()
    found = _Found(ids)
    for checkpoint_id in reversed(ids[-limit:] if limit else ids):
        found.add_stored(files, checkpoint_id)
    # One more than asked for tells that there are more.
    for event in islice(_of_checkpoints(History(store).events()), limit and limit + 1):
        found.add_event(event)
    entries = found.entries()
    if not entries:
        return Listing((), 0, False, max(batch_ids(store, names.COMMITS), default=None))
    cut = entries[:limit] if limit else entries
    return Listing(tuple(cut), len(ids), len(entries) > len(cut) or len(ids) > len(cut))


class _Found:
    """Puts manifests and history together; a manifest knows more."""

    def __init__(self, ids: Sequence[CheckpointId]) -> None:
        self._ids = frozenset(ids)
        self._stored: dict[int, CompletedCheckpoint] = {}
        self._damaged: dict[int, str] = {}
        self._events: list[Listed] = []

    def add_stored(self, files: CheckpointFiles, checkpoint_id: CheckpointId) -> None:
        try:
            stored = files.get(checkpoint_id)
        except PreflightError as error:
            self._damaged[checkpoint_id] = error.why
            return
        # One that retention has just taken away is told by the history.
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
        # A checkpoint of this id may be that of another life of the job, before --fresh.
        is_stored = checkpoint_id in self._ids and stored is None
        self._events.append(_completed(event, Status.COMPLETED if is_stored else Status.DISCARDED))

    def entries(self) -> list[Listed]:
        stored = [_completed(each, Status.COMPLETED) for each in self._stored.values()]
        damaged = [
            Listed(checkpoint_id=checkpoint_id, status=Status.DAMAGED, reason=why)
            for checkpoint_id, why in self._damaged.items()
        ]
        return sorted([*damaged, *self._events, *stored], key=_age, reverse=True)


def _age(entry: Listed) -> tuple[datetime, int]:
    # What has no time is what a person has to look at: it comes first.
    return (entry.ended_at or _LATEST, entry.checkpoint_id)


def _of_checkpoints(events: Iterable[Event]) -> Iterator[CompletedCheckpoint | FailedCheckpoint]:
    return (event for event in events if isinstance(event, CompletedCheckpoint | FailedCheckpoint))


def _completed(checkpoint: CompletedCheckpoint, status: Status, reason: str | None = None) -> Listed:
    acks = checkpoint.acknowledgements
    return Listed(
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


def _failed(checkpoint: FailedCheckpoint) -> Listed:
    return Listed(
        checkpoint_id=checkpoint.checkpoint_id,
        status=Status.FAILED,
        trigger=checkpoint.trigger.name,
        triggered_at=checkpoint.triggered_at,
        ended_at=checkpoint.failed_at,
        acknowledged=checkpoint.acknowledged,
        expected=checkpoint.waiting_for,
        reason=": ".join(part for part in (checkpoint.reason.name, checkpoint.detail) if part),
    )
