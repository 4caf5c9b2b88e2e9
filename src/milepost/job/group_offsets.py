"""The consumer groups of a job: one committer per source that commits, told of every completed checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from pyspark.sql import SparkSession

from milepost.checkpoint.listeners import CoordinatorListener
from milepost.checkpoint.model import CompletedCheckpoint, Offsets
from milepost.config import Config, KafkaSource
from milepost.source.committer import CommitStats, OffsetCommitter
from milepost.source.group import KafkaGroup
from milepost.source.kafka import client_options
from milepost.source.pending_commits import CommitMode, Schedule
from milepost.source.positions import merge_offsets

_CLOSE_TIMEOUT = 10.0


class _Reads(Protocol):
    def reads(self, topic: str) -> bool: ...


class GroupOffsets(CoordinatorListener):
    """Brings the offsets of completed checkpoints to the groups of the sources; never ahead, never back."""

    def __init__(self, committers: Mapping[str, tuple[_Reads, OffsetCommitter]]) -> None:
        """Take the source and the committer of each view that commits."""
        self._committers = committers

    @classmethod
    def of(cls, spark: SparkSession, config: Config, notice: Callable[[str], None]) -> GroupOffsets:
        """Start the committers that a configuration asks for."""
        return cls(
            {
                view: (source, _committer(spark, source, config, notice))
                for view, source in config.views.items()
                if CommitMode(source.commit) is not CommitMode.DISABLED and source.group_id is not None
            }
        )

    def disown(self, offsets: Offsets) -> None:
        """A job begins, and the groups stand here in topics that are gone: these offsets are replaced."""
        for source, committer in self._committers.values():
            committer.disown(_read_by(source, offsets))

    def restored(self, checkpoint: CompletedCheckpoint | None, topic_ids: Mapping[str, str]) -> None:
        """An attempt begins from there: bring groups that are behind up to it, and tell of those that are ahead.

        `topic_ids` are those of the start, for a checkpoint that has none: one of plain Spark.
        """
        if checkpoint is not None:
            for source, committer in self._committers.values():
                committer.reconcile(_of(source, checkpoint), {**topic_ids, **checkpoint.topic_ids})

    def completed(self, checkpoint: CompletedCheckpoint) -> None:
        """Step 9: commit the boundary, in the background."""
        for source, committer in self._committers.values():
            committer.remember(checkpoint.checkpoint_id, _of(source, checkpoint), checkpoint.topic_ids)
            committer.notify_checkpoint_complete(checkpoint.checkpoint_id)

    def stats(self) -> Mapping[str, CommitStats]:
        """Return how each view's commits went."""
        return {view: committer.stats() for view, (_, committer) in self._committers.items()}

    def close(self) -> None:
        """Commit what is left, and stop; the session must still be open."""
        for _, committer in self._committers.values():
            committer.close(_CLOSE_TIMEOUT)


def _committer(
    spark: SparkSession, source: KafkaSource, config: Config, notice: Callable[[str], None]
) -> OffsetCommitter:
    schedule = Schedule(
        mode=CommitMode(source.commit), commit_interval=source.commit_interval.total_seconds()
    )
    group = KafkaGroup(spark, client_options(source), source.group_id or "")
    return OffsetCommitter(group, schedule, notice=notice, redact=config.redact).start()


def _of(source: _Reads, checkpoint: CompletedCheckpoint) -> Offsets:
    return _read_by(source, merge_offsets(checkpoint.sources))


def _read_by(source: _Reads, offsets: Offsets) -> Offsets:
    return {topic: partitions for topic, partitions in offsets.items() if source.reads(topic)}
