"""The boundary of a proof: the offsets of the newest completed checkpoint, read from its directory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.spark_log import CompletedBatch, newest_completed
from milepost.checkpoint.store.store import Store
from milepost.errors import NotReachableError
from milepost.verify.log import Span, is_named

_MOST_LOOKS = 10
_OF_A_JOB = (names.OURS, names.OFFSETS, names.COMMITS, names.METADATA)


@dataclass(frozen=True, slots=True)
class Boundary:
    """The offsets up to which the table must equal the log; later records may or may not be in the table."""

    name: str
    """The description of the boundary, for messages."""
    offsets: Offsets
    checkpoint_id: int | None = None

    def offset(self, span: Span) -> int:
        """Return the boundary of a partition; 0 if the checkpoint does not include it."""
        return self.offsets.get(span.topic, {}).get(span.partition, 0)

    def before(self, span: Span) -> Span:
        """Return the part of a span that is before the boundary."""
        return replace(span, end=self._within(span))

    def after(self, span: Span) -> Span:
        """Return the part of a span that is after the boundary."""
        return replace(span, begin=self._within(span))

    def _within(self, span: Span) -> int:
        return min(max(self.offset(span), span.begin), span.end)


def require_job(store: Store) -> None:
    """Refuse a directory without checkpoints: the progress of the job is unknown."""
    if not any(store.exists(name) for name in _OF_A_JOB):
        raise NotReachableError(
            f"There are no checkpoints of a job in {store.address('')}",
            why="without them the offsets and the cell versions of the job are unknown",
            fix="Run verify on a machine that can read checkpointing.dir; for a job that has read everything,"
            " `--at end` compares with the entire log",
        )


def newest_boundary(store: Store) -> Boundary:
    """Return the boundary of the newest completed checkpoint, or the start of the job without one."""
    completed = _newest_completed(store)
    if completed is None:
        return Boundary("the start of the job, which has no completed checkpoint", {})
    return Boundary(f"checkpoint {completed.batch_id}", completed.sources[0], completed.batch_id)


def require_topics(store: Store, topics: Sequence[str]) -> None:
    """Refuse the directory of a job with other topics; a topic that starts with `^` is a pattern."""
    known = newest_boundary(store).offsets
    if known and not any(is_named(wanted, topic) for wanted in topics for topic in known):
        raise NotReachableError(
            f"The checkpoints in {store.address('')} belong to another job",
            why=f"it reads {', '.join(sorted(known))}, but this pipeline reads {', '.join(topics)}",
            fix="Set checkpointing.dir to the directory of this job",
        )


def _newest_completed(store: Store) -> CompletedBatch | None:
    for _ in range(_MOST_LOOKS - 1):
        # A running job may remove the entry between listing and reading, because newer ones exist.
        with suppress(FileNotFoundError):
            return newest_completed(store)
    return newest_completed(store)


def end_of(spans: Sequence[Span]) -> Boundary:
    """Return the boundary of a job that has read everything, if its directory is not available."""
    offsets: dict[str, dict[int, int]] = {}
    for span in spans:
        offsets.setdefault(span.topic, {})[span.partition] = span.end
    return Boundary("the end of the log", offsets)
