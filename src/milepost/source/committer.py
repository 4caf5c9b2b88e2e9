"""Commits the offsets of completed checkpoints to the source's consumer group (step 9), beside the job.

The group is what other tools look at; the job itself restarts from its checkpoint. So nothing here can fail a
checkpoint or hold it up: whoever calls is never blocked and never sees an exception.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from milepost.checkpoint.model import Offsets
from milepost.source.group import Answer, Failure, FailureKind, GroupClient
from milepost.source.pending_commits import (
    NO_IDS,
    Boundary,
    Ledger,
    PendingOffsets,
    Schedule,
    TopicIds,
    compare,
    of_topics,
)
from milepost.source.positions import Partition, Positions, flatten_offsets, nest_positions

_LISTED = 5
"""Partitions that a sentence names before it says how many more there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStats:
    """What became of the commits so far."""

    succeeded: int = 0
    failed: int = 0
    """Commits in which at least one partition failed."""
    committed: Offsets = field(default_factory=dict)
    """Where the group stands, as far as is known."""
    drift: Offsets = field(default_factory=dict)
    """By how many offsets the group is ahead of the newest completed checkpoint; only where it is."""
    last_error: str | None = None
    """Why the last commit failed, as a sentence; None when it succeeded."""


class OffsetCommitter:
    """Tells one consumer group where its source stands: a CheckpointListener with a thread of its own.

    Never ahead: only offsets of a completed checkpoint are committed, exactly as they are in it. Never back: the group
    is read first, and a partition in which it is ahead is left alone. Never elsewhere: offsets of a topic that is gone
    are dropped, and none is committed to its successor of the same name. At most one commit is in flight.
    """

    def __init__(
        self,
        client: GroupClient,
        schedule: Schedule,
        *,
        clock: Callable[[], float] = time.monotonic,
        notice: Callable[[str], None] = lambda _: None,
        redact: Callable[[str], str] = lambda text: text,
    ) -> None:
        """Own the client from now on; `notice` takes warnings, one sentence or two each, on any thread.

        What Kafka's client says goes through `redact` before it is told or kept.
        """
        self._client = client
        self._clock = clock
        self._notice = notice
        self._redact = redact
        self._changed = threading.Condition()
        # All of these are guarded by the condition's lock.
        self._pending = PendingOffsets()
        self._ledger = Ledger(schedule=schedule)
        self._stats = CommitStats()
        self._failing: Mapping[Partition, Failure] = {}
        self._disowned: Positions = {}
        self._closing = False
        # Only the thread's own.
        self._alarmed: frozenset[Partition] = frozenset()
        self._thread = threading.Thread(target=self._run, name=f"offsets-{client.group}", daemon=True)

    def start(self) -> OffsetCommitter:
        """Begin to commit; what was taken note of before is not lost."""
        self._thread.start()
        return self

    def remember(self, checkpoint_id: int, offsets: Offsets, topic_ids: TopicIds = NO_IDS) -> None:
        """Take note of a checkpoint's offsets and of the topics they belong to, before it completes."""
        with self._changed:
            self._pending = self._pending.remember(
                checkpoint_id, Boundary(flatten_offsets(offsets), topic_ids)
            )

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Have the checkpoint's offsets committed; returns at once."""
        with self._changed:
            self._pending, boundary = self._pending.take(checkpoint_id)
            if boundary is not None and boundary.positions:
                self._ledger = self._ledger.complete(boundary.positions, self._clock(), boundary.topic_ids)
                self._changed.notify_all()
        if boundary is None:
            self._tell(
                f"Checkpoint {checkpoint_id} has completed, and its offsets are not known here: "
                f"nothing is committed to group {self._client.group!r} for it."
            )

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Forget the checkpoint's offsets: they will never be committed."""
        with self._changed:
            self._pending = self._pending.forget(checkpoint_id)

    def disown(self, offsets: Offsets) -> None:
        """Take note of where the group stands in topics that are gone: the next commit replaces these offsets."""
        with self._changed:
            self._disowned = flatten_offsets(offsets)

    def reconcile(self, offsets: Offsets, topic_ids: TopicIds = NO_IDS) -> None:
        """Compare the group with the checkpoint that the job starts from; returns at once.

        A group that is behind, as after a death between steps 8 and 9, is brought up; one that is ahead raises the
        alarm. What was remembered belongs to an attempt that is over, and is forgotten.
        """
        with self._changed:
            self._pending = PendingOffsets()
            if positions := flatten_offsets(offsets):
                self._ledger = self._ledger.restart(positions, self._clock(), topic_ids)
                self._changed.notify_all()

    def stats(self) -> CommitStats:
        """Return what became of the commits so far."""
        with self._changed:
            ledger = self._ledger
            drift = {each: found - ledger.target[each] for each, found in ledger.ahead.items()}
            return replace(
                self._stats, committed=nest_positions(ledger.committed), drift=nest_positions(drift)
            )

    def close(self, timeout: float) -> None:
        """Try once more what is not committed yet, and end; after the timeout without it."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout)
            if self._thread.is_alive():
                self._tell(
                    f"The last offsets of group {self._client.group!r} were not committed within {timeout:g} s: "
                    "the next start of the job commits them."
                )
        try:
            self._client.close()  # also ends a call that is still in flight
        except Exception as error:
            self._tell(f"The Kafka client of group {self._client.group!r} could not be closed: {error}")

    def turn(self) -> float:
        """Commit what is due, and return when there is something to do next; the thread's one task."""
        with self._changed:
            self._ledger, due = self._ledger.take_due(self._clock())
            wanted = Boundary(due, self._ledger.topic_ids)
        self._try(wanted)
        with self._changed:
            return self._ledger.next_due()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closing and (left := self._ledger.next_due() - self._clock()) > 0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                if self._closing:
                    self._ledger, rest = self._ledger.take_all()
                    last = Boundary(rest, self._ledger.topic_ids)
                    break
            self.turn()
        self._try(last)

    def _try(self, boundary: Boundary) -> None:
        """Read the group, write what may be written, and take down what became of it."""
        wanted, topic_ids = boundary.positions, boundary.topic_ids
        if not wanted:
            return
        with self._changed:
            disowned = self._disowned
        read = _call(self._client.read, wanted)
        group = of_topics(read.positions, read.owners, topic_ids=topic_ids, disowned=disowned)
        comparison = compare(wanted, group)
        commit = partial(self._client.commit, topic_ids=topic_ids)
        written = _call(commit, comparison.commit) if comparison.commit else Answer()
        failures = {**read.failures, **written.failures}
        with self._changed:
            self._settle(wanted, failures, comparison.ahead)
            # A partition that waits for its next try, or was dropped, is still failing when the others succeed.
            still = self._ledger.retries.keys() | self._ledger.dropped
            failing = {each: failure for each, failure in self._failing.items() if each in still}
            failing.update(failures)
            before, self._failing = self._failing, failing
            self._stats = replace(
                self._stats,
                succeeded=self._stats.succeeded + (not failures and bool(comparison.commit)),
                failed=self._stats.failed + bool(failures),
                last_error=self._redact(_failure_sentence(self._client.group, failing)) if failing else None,
            )
        self._tell_of_failures(before, failing)
        self._tell_of_drift()

    def _settle(self, wanted: Positions, failures: Mapping[Partition, Failure], ahead: Positions) -> None:
        settled = self._ledger.settle(wanted, failed=frozenset(failures), ahead=ahead, now=self._clock())
        final = frozenset(each for each, failure in failures.items() if failure.kind.is_final)
        self._ledger = settled.drop(final) if final else settled

    def _tell_of_failures(
        self, before: Mapping[Partition, Failure], failing: Mapping[Partition, Failure]
    ) -> None:
        """Say what fails when that has changed, and not at every try."""
        if {each: failure.kind for each, failure in before.items()} == {
            each: failure.kind for each, failure in failing.items()
        }:
            return
        if failing:
            self._tell(self._redact(_failure_sentence(self._client.group, failing)))
        else:
            self._tell(f"Offsets are committed to group {self._client.group!r} again.")

    def _tell_of_drift(self) -> None:
        """Raise the alarm when the group is found ahead in another set of partitions than before."""
        with self._changed:
            ahead, target = self._ledger.ahead, self._ledger.target
        if ahead.keys() != self._alarmed:
            self._alarmed = frozenset(ahead)
            self._tell(_drift_sentence(self._client.group, ahead, target))

    def _tell(self, sentence: str) -> None:
        try:
            self._notice(sentence)
        except Exception:  # a broken pipe of whoever listens is no reason to stop committing
            return


def _call(call: Callable[[Positions], Answer], positions: Positions) -> Answer:
    """Call the client; what it raises is a failure of every partition that was asked for."""
    try:
        return call(positions)
    except Exception as error:
        failure = Failure(FailureKind.OTHER, _text(error))
        return Answer(failures=dict.fromkeys(positions, failure))


def _text(error: Exception) -> str:
    """Return the first line of an error; one from Java asks the JVM for its text, which may have ended."""
    try:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    except Exception:
        return type(error).__name__


def _failure_sentence(group: str, failures: Mapping[Partition, Failure]) -> str:
    """Return what, why and fix of the commonest kind of failure; the same failures give the same sentence."""
    kind, _ = Counter(failure.kind for failure in failures.values()).most_common(1)[0]
    message = min(failure.message for failure in failures.values() if failure.kind is kind)
    parts = (
        f"Offsets could not be committed to group {group!r} for {_names(failures)}: {kind.why} ({message})",
        "They are dropped, since they mean nothing in another topic of that name"
        if kind.is_final
        else "It is tried again; the checkpoint is not touched by it",
        kind.fix,
    )
    return " ".join(f"{part}." for part in parts if part)


def _drift_sentence(group: str, ahead: Positions, target: Positions) -> str:
    if not ahead:
        return f"Group {group!r} is no longer ahead of the job's checkpoint."
    (topic, partition), found = min(ahead.items())
    return (
        f"Group {group!r} is ahead of the job's checkpoint in {_names(ahead)}: at {topic}-{partition} it stands at "
        f"{found}, the checkpoint at {target[topic, partition]}. Somebody else has moved it, or the job has gone "
        "back to an older checkpoint. It is left alone until the job has passed it; a start from group offsets would "
        "skip records."
    )


def _names(partitions: Iterable[Partition]) -> str:
    names = [f"{topic}-{partition}" for topic, partition in sorted(partitions)]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
