"""Commits the offsets of completed checkpoints to the consumer group of the source (step 9), in the background.

The committed offsets are for other tools; the job itself restarts from its checkpoint. So a commit never fails or
delays a checkpoint: callers are never blocked and never see an exception.
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
    select_owned,
)
from milepost.source.positions import Partition, Positions, flatten_offsets, nest_positions

_LISTED = 5
"""Number of partitions that a message lists by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStats:
    """The results of the commits so far."""

    succeeded: int = 0
    failed: int = 0
    """Commits in which at least one partition failed."""
    committed: Offsets = field(default_factory=dict)
    """The committed offsets of the group, as far as they are known."""
    drift: Offsets = field(default_factory=dict)
    """By how many offsets the group is ahead of the newest completed checkpoint; only partitions that are ahead."""
    last_error: str | None = None
    """Why the last commit failed; None if it succeeded."""


class OffsetCommitter:
    """Commits the offsets of one source to its consumer group: a CheckpointListener with its own thread.

    Never ahead: only the offsets of completed checkpoints are committed. Never back: the group is read first, and
    partitions in which it is ahead are skipped. Never elsewhere: offsets of a deleted topic are dropped, and never
    committed to a new topic of the same name. At most one commit is in flight.
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
        """Take ownership of the client; `notice` receives warnings on any thread.

        Messages of the Kafka client are passed through `redact` before they are reported or stored.
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
        # Used by the thread only.
        self._alarmed: frozenset[Partition] = frozenset()
        self._thread = threading.Thread(target=self._run, name=f"offsets-{client.group}", daemon=True)

    def start(self) -> OffsetCommitter:
        """Start the thread; offsets that were recorded before are kept."""
        self._thread.start()
        return self

    def remember(self, checkpoint_id: int, offsets: Offsets, topic_ids: TopicIds = NO_IDS) -> None:
        """Record the offsets and topic ids of a checkpoint before it completes."""
        with self._changed:
            self._pending = self._pending.remember(
                checkpoint_id, Boundary(flatten_offsets(offsets), topic_ids)
            )

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Schedule the commit of the offsets of the checkpoint; returns immediately."""
        with self._changed:
            self._pending, boundary = self._pending.take(checkpoint_id)
            if boundary is not None and boundary.positions:
                self._ledger = self._ledger.complete(boundary.positions, self._clock(), boundary.topic_ids)
                self._changed.notify_all()
        if boundary is None:
            self._report(
                f"Checkpoint {checkpoint_id} completed, but its offsets are not known: "
                f"nothing is committed to group {self._client.group!r} for it."
            )

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Discard the offsets of the checkpoint: they will never be committed."""
        with self._changed:
            self._pending = self._pending.forget(checkpoint_id)

    def disown(self, offsets: Offsets) -> None:
        """Record the group offsets that belong to deleted topics: the next commit replaces them."""
        with self._changed:
            self._disowned = flatten_offsets(offsets)

    def reconcile(self, offsets: Offsets, topic_ids: TopicIds = NO_IDS) -> None:
        """Compare the group with the checkpoint that the job starts from; returns immediately.

        A group that is behind, for example after a crash between steps 8 and 9, is updated; one that is ahead is
        reported. Pending offsets of earlier attempts are discarded.
        """
        with self._changed:
            self._pending = PendingOffsets()
            if positions := flatten_offsets(offsets):
                self._ledger = self._ledger.restart(positions, self._clock(), topic_ids)
                self._changed.notify_all()

    def stats(self) -> CommitStats:
        """Return the results of the commits so far."""
        with self._changed:
            ledger = self._ledger
            drift = {each: found - ledger.target[each] for each, found in ledger.ahead.items()}
            return replace(
                self._stats, committed=nest_positions(ledger.committed), drift=nest_positions(drift)
            )

    def close(self, timeout: float) -> None:
        """Try to commit the remaining offsets and stop; gives up after the timeout."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout)
            if self._thread.is_alive():
                self._report(
                    f"The last offsets of group {self._client.group!r} were not committed within {timeout:g} s: "
                    "the next start of the job commits them."
                )
        try:
            self._client.close()  # also cancels a call in flight
        except Exception as error:
            self._report(f"The Kafka client of group {self._client.group!r} could not be closed: {error}")

    def turn(self) -> float:
        """Commit the offsets that are due, and return the time of the next commit."""
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
        """Read the group, commit the offsets that may be committed, and record the result."""
        wanted, topic_ids = boundary.positions, boundary.topic_ids
        if not wanted:
            return
        with self._changed:
            disowned = self._disowned
        read = _call(self._client.read, wanted)
        group = select_owned(read.positions, read.owners, topic_ids=topic_ids, disowned=disowned)
        comparison = compare(wanted, group)
        commit = partial(self._client.commit, topic_ids=topic_ids)
        written = _call(commit, comparison.commit) if comparison.commit else Answer()
        failures = {**read.failures, **written.failures}
        with self._changed:
            self._settle(wanted, failures, comparison.ahead)
            # A partition that waits for a retry, or was dropped, is still failing if the others succeed.
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
        self._report_failures(before, failing)
        self._report_drift()

    def _settle(self, wanted: Positions, failures: Mapping[Partition, Failure], ahead: Positions) -> None:
        settled = self._ledger.settle(wanted, failed=frozenset(failures), ahead=ahead, now=self._clock())
        final = frozenset(each for each, failure in failures.items() if failure.kind.is_final)
        self._ledger = settled.drop(final) if final else settled

    def _report_failures(
        self, before: Mapping[Partition, Failure], failing: Mapping[Partition, Failure]
    ) -> None:
        """Report failures when they change, not at every attempt."""
        if {each: failure.kind for each, failure in before.items()} == {
            each: failure.kind for each, failure in failing.items()
        }:
            return
        if failing:
            self._report(self._redact(_failure_sentence(self._client.group, failing)))
        else:
            self._report(f"Offsets are committed to group {self._client.group!r} again.")

    def _report_drift(self) -> None:
        """Report drift when the set of partitions in which the group is ahead changes."""
        with self._changed:
            ahead, target = self._ledger.ahead, self._ledger.target
        if ahead.keys() != self._alarmed:
            self._alarmed = frozenset(ahead)
            self._report(_drift_sentence(self._client.group, ahead, target))

    def _report(self, sentence: str) -> None:
        try:
            self._notice(sentence)
        except Exception:  # a failing listener must not stop the commits
            return


def _call(call: Callable[[Positions], Answer], positions: Positions) -> Answer:
    """Call the client; an exception is a failure of every requested partition."""
    try:
        return call(positions)
    except Exception as error:
        failure = Failure(FailureKind.OTHER, _text(error))
        return Answer(failures=dict.fromkeys(positions, failure))


def _text(error: Exception) -> str:
    """Return the first line of an error; an error from Java asks the JVM, which may have exited."""
    try:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    except Exception:
        return type(error).__name__


def _failure_sentence(group: str, failures: Mapping[Partition, Failure]) -> str:
    """Return what, why and fix of the most common kind of failure; equal failures give equal messages."""
    kind, _ = Counter(failure.kind for failure in failures.values()).most_common(1)[0]
    message = min(failure.message for failure in failures.values() if failure.kind is kind)
    parts = (
        f"Offsets could not be committed to group {group!r} for {_names(failures)}: {kind.why} ({message})",
        "They are dropped, because they are not valid in a new topic of the same name"
        if kind.is_final
        else "The commit is retried; the checkpoint is not affected",
        kind.fix,
    )
    return " ".join(f"{part}." for part in parts if part)


def _drift_sentence(group: str, ahead: Positions, target: Positions) -> str:
    if not ahead:
        return f"Group {group!r} is no longer ahead of the job's checkpoint."
    (topic, partition), found = min(ahead.items())
    return (
        f"Group {group!r} is ahead of the job's checkpoint in {_names(ahead)}: in {topic}-{partition} the group is at "
        f"{found}, the checkpoint at {target[topic, partition]}. Another client moved the group, or the job was "
        "restored from an older checkpoint. The group is not changed until the job has passed it; a start from group "
        "offsets would skip records."
    )


def _names(partitions: Iterable[Partition]) -> str:
    names = [f"{topic}-{partition}" for topic, partition in sorted(partitions)]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
