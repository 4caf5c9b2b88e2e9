"""The consumer groups of a job: one committer per source commits the offsets of each completed checkpoint."""

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


class _TopicReader(Protocol):
    def reads(self, topic: str) -> bool: ...


class GroupOffsets(CoordinatorListener):
    """Commits the offsets of completed checkpoints to the sources' groups: never ahead of one, never backwards."""

    def __init__(self, committers: Mapping[str, tuple[_TopicReader, OffsetCommitter]]) -> None:
        """Take the source and the committer of each view with a committing source."""
        self._committers = committers

    @classmethod
    def of(cls, spark: SparkSession, config: Config, notice: Callable[[str], None]) -> GroupOffsets:
        """Start the committers of the configuration."""
        return cls(
            {
                view: (source, _start_committer(spark, source, config, notice))
                for view, source in config.views.items()
                if CommitMode(source.commit) is not CommitMode.DISABLED and source.group_id is not None
            }
        )

    def disown(self, offsets: Offsets) -> None:
        """Let these group offsets be overwritten: they belong to deleted topics of the same name."""
        for source, committer in self._committers.values():
            committer.disown(_select_topics(source, offsets))

    def reconcile(self, checkpoint: CompletedCheckpoint | None, topic_ids: Mapping[str, str]) -> None:
        """Commit the restored offsets to groups that are behind, and warn about groups that are ahead.

        `topic_ids` are used if the checkpoint has none, as one of plain Spark.
        """
        if checkpoint is not None:
            for source, committer in self._committers.values():
                committer.reconcile(_offsets_of(source, checkpoint), {**topic_ids, **checkpoint.topic_ids})

    def completed(self, checkpoint: CompletedCheckpoint) -> None:
        """Step 9: commit the boundary, in the background."""
        for source, committer in self._committers.values():
            committer.remember(
                checkpoint.checkpoint_id, _offsets_of(source, checkpoint), checkpoint.topic_ids
            )
            committer.notify_checkpoint_complete(checkpoint.checkpoint_id)

    def stats(self) -> Mapping[str, CommitStats]:
        """Return the commit statistics of each view."""
        return {view: committer.stats() for view, (_, committer) in self._committers.items()}

    def close(self) -> None:
        """Commit the remaining offsets and stop; the session must still be open."""
        for _, committer in self._committers.values():
            committer.close(_CLOSE_TIMEOUT)


def _start_committer(
    spark: SparkSession, source: KafkaSource, config: Config, notice: Callable[[str], None]
) -> OffsetCommitter:
    schedule = Schedule(
        mode=CommitMode(source.commit), commit_interval=source.commit_interval.total_seconds()
    )
    group = KafkaGroup(spark, client_options(source), source.group_id or "")
    return OffsetCommitter(group, schedule, notice=notice, redact=config.redact).start()


def _offsets_of(source: _TopicReader, checkpoint: CompletedCheckpoint) -> Offsets:
    return _select_topics(source, merge_offsets(checkpoint.sources))


def _select_topics(source: _TopicReader, offsets: Offsets) -> Offsets:
    return {topic: partitions for topic, partitions in offsets.items() if source.reads(topic)}
