"""All participants of a job: calls them in order within a chain, and chains in parallel, within a timeout.

It neither stores nor decides anything about a checkpoint; the coordinator does both.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.model import Acknowledgement, AckResult, CheckpointId, CompletedCheckpoint, Value
from milepost.checkpoint.participants.chain import Call, Chain
from milepost.checkpoint.participants.contributions import CORRECT_IT, Contributions, declined
from milepost.checkpoint.participants.participant import (
    ABORTED,
    COMPLETE,
    INITIALIZE,
    SNAPSHOT,
    InitializationContext,
    Member,
    enlist,
    hooks_of,
)
from milepost.checkpoint.participants.traceback_text import own_words, user_traceback
from milepost.checkpoint.participants.value import size_of
from milepost.errors import JobFailedError, ParticipantError, SnapshotExpired

Acknowledge = Callable[[Acknowledgement], AckResult]
Wait = Callable[[threading.Event, float], bool]
"""Waits for an event, at most so many seconds, and returns whether it came."""

_HANG = "Find out where it hangs, set a timeout on what it waits for, or raise checkpointing.timeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What all participants together want stored in one checkpoint."""

    states: Mapping[str, Value] = field(default_factory=dict)
    """By name, without the participants that have no state."""
    extra: Mapping[str, Value] = field(default_factory=dict)


class Participants:
    """The Python participants of a job.

    `[a, b]` are two chains, which run side by side; `[[a, b]]` is one chain, in which b waits for a.
    Hooks run on threads of the chains, never on the caller's.
    """

    def __init__(
        self,
        chains: Sequence[object],
        *,
        wait: Wait = threading.Event.wait,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._chains = [Chain(members) for members in enlist(chains)]
        self._members = [member for chain in self._chains for member in chain.members]
        self._wait = wait
        self._now = now

    def beside(self, name: str, built_in: object | None) -> Participants:
        """Return these and, where there is one, a built-in participant in a chain of its own; its name is reserved."""
        joined = Participants([], wait=self._wait, now=self._now)
        own = [] if built_in is None else [Chain((Member(name, hooks_of(built_in)),))]
        joined._chains = [*own, *self._chains]
        joined._members = [member for chain in joined._chains for member in chain.members]
        return joined

    @property
    def names(self) -> tuple[str, ...]:
        """Return every participant's name, in the order given; each of them acknowledges every checkpoint."""
        return tuple(member.name for member in self._members)

    def unclaimed(self, restored: CompletedCheckpoint) -> tuple[str, ...]:
        """Return the names of states in the checkpoint that no participant here would be given."""
        return tuple(sorted(restored.states.keys() - set(self.names)))

    def initialize(self, restored: CompletedCheckpoint | None, *, timeout: float) -> None:
        """Restore the state of each participant, or none. Waits for a chain that still hangs in an older call.

        Raises:
            ParticipantError: as soon as one raises, or after the timeout, naming those that have not returned.
        """

        def step(member: Member) -> None:
            try:
                member.hooks[INITIALIZE](_initialization(member.name, restored))
            except BaseException as error:
                raise own_words(error) or ParticipantError(
                    f"Participant {member.name!r} could not be initialized",
                    why=user_traceback(error),
                    fix=CORRECT_IT,
                    participants=[member.name],
                ) from error

        call = Call(INITIALIZE, None, self._having(INITIALIZE))
        missing = self._run(call, lambda chain: chain.run(chain.having(INITIALIZE), call, step), timeout)
        _raise_first(call)
        if missing:
            raise ParticipantError(
                f"{call} did not return within {timeout:g} s for {_listed(missing)}",
                why=self._whereabouts(),
                fix=_HANG,
                participants=missing,
            )
        for member in self._members:
            _forget(member, restored)

    def snapshot(
        self, checkpoint_id: CheckpointId, timestamp: datetime, *, timeout: float, acknowledge: Acknowledge
    ) -> Snapshot:
        """Take a snapshot of each participant; the chains' threads call `acknowledge` as each one returns.

        A participant that returns after this has raised is acknowledged too, for the coordinator to discard. Its state
        is dropped, and the rest of its chain is not called. A chain that still hangs in an older call declines at once.

        Raises:
            SnapshotDeclined: as soon as one raises, leaves what cannot be stored, or cannot even begin.
            SnapshotExpired: after the timeout, naming those that have not returned.
        """
        self._refuse_hanging(checkpoint_id)
        contributions = Contributions(checkpoint_id, timestamp)

        def step(member: Member) -> None:
            began = time.monotonic()
            size = size_of(contributions.ask(member))
            duration_ms = round((time.monotonic() - began) * 1000)
            answer = acknowledge(
                Acknowledgement(participant=member.name, at=self._now(), duration_ms=duration_ms, bytes=size)
            )
            if answer not in (AckResult.SUCCESS, AckResult.DUPLICATE) and not call.is_over:
                why = f"its acknowledgement was {answer.name}: {answer.value}"
                raise declined(checkpoint_id, member.name, why=why)

        call = Call(SNAPSHOT, checkpoint_id, self.names)
        missing = self._run(call, lambda chain: chain.run(chain.members, call, step), timeout)
        _raise_first(call)
        if missing:
            raise SnapshotExpired(
                f"Checkpoint {checkpoint_id} expired after {timeout:g} s: {_listed(missing)} did not acknowledge",
                why=self._whereabouts(),
                fix=_HANG,
                participants=missing,
                hanging=[running.participant for chain in self._chains if (running := chain.running)],
            )
        return Snapshot(states=contributions.states, extra=contributions.extra)

    def notify_complete(self, checkpoint_id: CheckpointId, *, timeout: float) -> None:
        """Notify every listener, once per id, that the checkpoint is complete.

        A chain that still hangs in an older call is notified when that returns, and is not waited for.

        Raises:
            ParticipantError: if some raised after all were notified, or after the timeout, naming the missing ones.
        """
        self._notify(COMPLETE, checkpoint_id, timeout)

    def notify_aborted(self, checkpoint_id: CheckpointId, *, timeout: float) -> None:
        """Notify every listener that the checkpoint will not complete; otherwise like `notify_complete`."""
        self._notify(ABORTED, checkpoint_id, timeout)

    def _notify(self, hook: str, checkpoint_id: CheckpointId, timeout: float) -> None:
        def step(member: Member) -> None:
            if member.told.get(hook) != checkpoint_id:
                member.told[hook] = checkpoint_id
                member.hooks[hook](checkpoint_id)

        hanging = {name for chain in self._chains if chain.given_up for name in chain.names}
        call = Call(hook, checkpoint_id, [name for name in self._having(hook) if name not in hanging])
        missing = self._run(call, lambda chain: chain.tell(chain.having(hook), call, step), timeout)
        if call.failures or missing:
            raise _notification_failure(call, missing, timeout)

    def _having(self, hook: str) -> list[str]:
        return [member.name for member in self._members if hook in member.hooks]

    def _run(self, call: Call, begin: Callable[[Chain], None], timeout: float) -> tuple[str, ...]:
        """Wait until the call is settled or the time is over; return the participants that have not returned."""
        try:
            for chain in self._chains:
                begin(chain)
            self._wait(call.settled, timeout)
        finally:
            missing = call.end()
        return missing

    def _refuse_hanging(self, checkpoint_id: CheckpointId) -> None:
        for chain in self._chains:
            if hanging := chain.given_up:
                why = f"{hanging}, which was given up, so its chain cannot begin another snapshot"
                raise declined(checkpoint_id, hanging.participant, why=why, fix=_HANG)

    def _whereabouts(self) -> str:
        return "; ".join(str(chain.running) for chain in self._chains if chain.running)


def _raise_first(call: Call) -> None:
    for name, error in call.failures.items():
        if isinstance(error, JobFailedError):
            error.participants = error.participants or (name,)
        raise error


def _initialization(name: str, restored: CompletedCheckpoint | None) -> InitializationContext:
    """Return copies, so participants cannot affect each other."""
    if restored is None:
        return InitializationContext()
    return InitializationContext(
        checkpoint_id=restored.checkpoint_id,
        state=copy.deepcopy(restored.states.get(name)),
        extra=MappingProxyType(copy.deepcopy(dict(restored.extra))),
    )


def _forget(member: Member, restored: CompletedCheckpoint | None) -> None:
    """Forget the notifications of ids that the new attempt uses again."""
    member.told.pop(ABORTED, None)
    if restored is None or restored.checkpoint_id < member.told.get(COMPLETE, -1):
        member.told.pop(COMPLETE, None)


def _notification_failure(call: Call, missing: Sequence[str], timeout: float) -> JobFailedError:
    """Return one error for all participants that raised or did not return."""
    for error in call.failures.values():
        if told := own_words(error):
            return told
    raised = tuple(call.failures)
    parts = [f"{call} raised for {_listed(raised)}"] if raised else []
    if missing:
        parts.append(f"{call} did not return within {timeout:g} s for {_listed(missing)}")
    return ParticipantError(
        "; ".join(parts),
        why="\n\n".join(user_traceback(error) for error in call.failures.values()),
        fix=CORRECT_IT if raised else _HANG,
        participants=(*raised, *missing),
    )


def _listed(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return f"{'participant' if len(quoted) == 1 else 'participants'} {', '.join(quoted)}"
