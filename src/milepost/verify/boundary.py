"""The boundary of a proof: where in the log the newest completed checkpoint stands, read from its directory."""

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
    """The offsets up to which the table must be what the log says; nothing is promised of later records."""

    name: str
    """What stands there, for a person."""
    offsets: Offsets
    checkpoint_id: int | None = None

    def offset(self, span: Span) -> int:
        """Return where the boundary is in a partition; 0 in one that the checkpoint does not know."""
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
    """Refuse a directory that no job has written to: it cannot tell how far the job has come."""
    if not any(store.exists(name) for name in _OF_A_JOB):
        raise NotReachableError(
            f"There are no checkpoints of a job in {store.address('')}",
            why="without them it is not known how far the job has read, nor how it makes the versions of cells",
            fix="Run verify where checkpointing.dir can be read; for a job that has read everything,"
            " `--at end` compares with the whole log",
        )


def newest_boundary(store: Store) -> Boundary:
    """Return the boundary of the newest completed checkpoint; before the first one nothing is promised."""
    completed = _newest_completed(store)
    if completed is None:
        return Boundary("the start of the job, which has no completed checkpoint", {})
    return Boundary(f"checkpoint {completed.batch_id}", completed.sources[0], completed.batch_id)


def require_topics(store: Store, topics: Sequence[str]) -> None:
    """Refuse the directory of a job that reads other topics; a topic that starts with `^` is a pattern."""
    known = newest_boundary(store).offsets
    if known and not any(is_named(wanted, topic) for wanted in topics for topic in known):
        raise NotReachableError(
            f"The checkpoints in {store.address('')} are of another job",
            why=f"it reads {', '.join(sorted(known))}, and this pipeline reads {', '.join(topics)}",
            fix="Set checkpointing.dir to the directory of this job",
        )


def _newest_completed(store: Store) -> CompletedBatch | None:
    for _ in range(_MOST_LOOKS - 1):
        # A running job may let the entry go between the listing and the reading, for newer ones.
        with suppress(FileNotFoundError):
            return newest_completed(store)
    return newest_completed(store)


def end_of(spans: Sequence[Span]) -> Boundary:
    """Return the boundary of a job that has read everything, for where its directory cannot be asked."""
    offsets: dict[str, dict[int, int]] = {}
    for span in spans:
        offsets.setdefault(span.topic, {})[span.partition] = span.end
    return Boundary("the end of the log", offsets)
