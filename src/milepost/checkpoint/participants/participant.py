"""Python participants of a checkpoint: the four hooks, their arguments, and their names. Runs nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol

from milepost.checkpoint.model import CheckpointId, Value
from milepost.checkpoint.participants.value import storable
from milepost.errors import ConfigError, ConfigFault, ParticipantError

INITIALIZE = "initialize_state"
SNAPSHOT = "snapshot_state"
COMPLETE = "notify_checkpoint_complete"
ABORTED = "notify_checkpoint_aborted"
HOOKS = (INITIALIZE, SNAPSHOT, COMPLETE, ABORTED)

_RESERVED = ("writer/", "state/", "sink.")
_FIX = f"Give objects with at least one of the methods {', '.join(HOOKS)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitializationContext:
    """What a participant is given when the job starts or starts again."""

    checkpoint_id: CheckpointId | None = None
    """The checkpoint the job resumes from; None at a fresh start."""
    state: Value = None
    """What this participant stored in it; None at a fresh start, and where it stored nothing."""
    extra: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    """What was attached to it, by any participant."""

    @property
    def is_restored(self) -> bool:
        """Return whether the job resumes from a checkpoint, be there a state of this participant or not."""
        return self.checkpoint_id is not None


class SnapshotContext:
    """What a participant is given when it has to take its snapshot; of no use afterwards."""

    def __init__(self, participant: str, checkpoint_id: CheckpointId, timestamp: datetime) -> None:
        self._participant = participant
        self._checkpoint_id = checkpoint_id
        self._timestamp = timestamp
        self._extra: dict[str, Value] = {}
        self._ended = False
        self.state: Value = None
        """What to store; what `snapshot_state` returns counts instead, unless that is None."""

    @property
    def checkpoint_id(self) -> CheckpointId:
        """The checkpoint that this snapshot belongs to."""
        return self._checkpoint_id

    @property
    def timestamp(self) -> datetime:
        """When the checkpoint was triggered; the same for every participant."""
        return self._timestamp

    def attach(self, key: str, value: Value) -> None:
        """Store `value` with the checkpoint itself: every participant finds it in `extra` after a restore.

        It is copied at once. The same participant may attach a key again; of two different ones the second is declined.
        """
        if self._ended:
            raise ParticipantError(
                f"The snapshot of checkpoint {self._checkpoint_id} has ended: {key!r} cannot be attached any more",
                fix="Attach while snapshot_state runs",
                participants=[self._participant],
            )
        if not isinstance(key, str) or not key:
            raise ParticipantError(
                f"Participant {self._participant!r} attaches a value under {key!r}",
                why="a key is a str and not empty",
                participants=[self._participant],
            )
        self._extra[key] = storable(value, f"The extra value {key!r}", self._participant)

    def end(self, returned: Value) -> tuple[Value, Mapping[str, Value]]:
        """Return copies of the state and of what was attached; nothing can be added from here on."""
        self._ended = True
        state = self.state if returned is None else returned
        return storable(state, "The state", self._participant), self._extra


class CheckpointedFunction(Protocol):
    """A participant that has state: it is asked for it in every checkpoint and is given it back."""

    def initialize_state(self, context: InitializationContext) -> None:
        """Take over `context.state`, or begin without one.

        Called once at every start of the job and at every automatic restart, before the first record. After a restart
        the object is the same as before: reset everything, also when there is no state. An exception fails the start.
        """
        return None

    def snapshot_state(self, context: SnapshotContext) -> Value | None:
        """Return the state, or set `context.state`; JSON or bytes.

        Called once per attempt of a checkpoint, when every record before its boundary has been acknowledged by the
        sink. The checkpoint is not complete when this returns, and may never be. A raise declines it.
        """
        return None


class CheckpointListener(Protocol):
    """A participant that is notified of the outcome of a checkpoint."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Handle a completed checkpoint: it is durable, and every older one is obsolete.

        Called at most once per id, ids ascending. Not promised: a driver that dies before never tells, so what must
        happen belongs into `initialize_state` too. A raise fails the job and does not revoke the checkpoint.
        """
        return None

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Handle an aborted attempt at the checkpoint; a restart may try the same id again.

        Called at most once per attempt. Not promised either. A raise fails the job.
        """
        return None


class Member:
    """A participant under its name, with the hooks it has."""

    __slots__ = ("hooks", "name", "told")

    def __init__(self, name: str, hooks: Mapping[str, Callable[..., Any]]) -> None:
        self.name = name
        self.hooks = hooks
        self.told: dict[str, int] = {}
        """The last checkpoint that it was notified of, by hook."""


def enlist(chains: Sequence[object]) -> tuple[tuple[Member, ...], ...]:
    """Return the chains as members with names; a participant that stands alone is a chain of one.

    Raises:
        ConfigError: lists every object that cannot take part.
    """
    if not isinstance(chains, list | tuple):
        raise ConfigError(
            f"participants is {_kind(chains)}, not a list",
            fix="Write participants=[…], also for a single one",
        )
    taken: set[str] = set()
    seen: set[int] = set()
    faults: list[ConfigFault] = []
    enlisted: list[tuple[Member, ...]] = []
    for path, chain in _chains(chains):
        members = []
        for place, candidate in chain:
            message = _fault(candidate) or ("is there twice" if id(candidate) in seen else None)
            seen.add(id(candidate))
            if message is not None:
                faults.append(ConfigFault(place, message))
                continue
            members.append(Member(_unique(_name(candidate), taken), hooks_of(candidate)))
        if not chain:
            faults.append(ConfigFault(path, "is a chain without participants"))
        enlisted.append(tuple(members))
    if faults:
        raise ConfigError(
            "Not everything in participants can take part in a checkpoint", fix=_FIX, faults=faults
        )
    return tuple(enlisted)


def _chains(chains: Sequence[object]) -> Iterator[tuple[str, list[tuple[str, object]]]]:
    for index, chain in enumerate(chains):
        path = f"participants[{index}]"
        if isinstance(chain, list | tuple) and not hooks_of(chain):
            yield path, [(f"{path}[{place}]", candidate) for place, candidate in enumerate(chain)]
        else:
            yield path, [(path, chain)]


def hooks_of(candidate: object) -> dict[str, Any]:
    """Return what the object has under the names of hooks; what it only inherits from our protocols does nothing."""
    found = {hook: getattr(candidate, hook, None) for hook in HOOKS}
    return {
        hook: method
        for hook, method in found.items()
        if method is not None and not _is_empty(candidate, hook)
    }


def _is_empty(candidate: object, hook: str) -> bool:
    protocol = CheckpointedFunction if hook in (INITIALIZE, SNAPSHOT) else CheckpointListener
    own = getattr(type(candidate), hook, None)
    return own is not None and own is getattr(protocol, hook)


def _fault(candidate: object) -> str | None:
    if isinstance(candidate, type):
        return f"{candidate.__qualname__} is a class, not an object of it; write {candidate.__qualname__}()"
    hooks = hooks_of(candidate)
    if not hooks:
        return f"{_kind(candidate)} has no hooks"
    for hook, method in hooks.items():
        if not callable(method):
            return f"{hook} of {_kind(candidate)} is {_kind(method)} and cannot be called"
        if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            return f"{hook} of {_kind(candidate)} is async; hooks are called, not awaited"
    if _name(candidate).startswith(_RESERVED):
        return f"the name {_name(candidate)!r} begins like those of built-in participants ({', '.join(_RESERVED)})"
    return None


def _kind(candidate: object) -> str:
    kind = type(candidate).__qualname__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def _name(candidate: object) -> str:
    name = getattr(candidate, "name", None)
    return name if isinstance(name, str) and name else type(candidate).__name__


def _unique(name: str, taken: set[str]) -> str:
    """Return the name, with the first free number behind it where it is taken."""
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    taken.add(unique)
    return unique
