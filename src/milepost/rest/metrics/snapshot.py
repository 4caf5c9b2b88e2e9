"""The state that metrics are read from; all in memory, so that a scrape queries neither Spark nor Kafka."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from milepost.checkpoint.model import Offsets
from milepost.config import Config, KafkaSource
from milepost.inspect.offsets import PartitionOffsets
from milepost.job.monitoring.counters import JobCounters
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.view.job_view import Checkpoints, JobView
from milepost.source.committer import CommitStats
from milepost.source.positions import partition_lags


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of a job at one time."""

    at: datetime
    job_id: str
    status: JobStatus
    restarts: int
    moved_at: Mapping[JobStatus, datetime]
    config: Config
    checkpoints: Checkpoints
    progress: Progress | None
    counters: JobCounters
    commits: Mapping[str, CommitStats]
    """The statistics of the commits to the group of each view."""
    ends: Offsets | None = None
    """The recent end offsets of the topics; None while the broker does not respond."""
    offsets: Sequence[PartitionOffsets] | None = None
    """The newest checkpoint compared with the broker, from the last query."""

    @property
    def position(self) -> Offsets:
        """The next offset of every partition."""
        return self.progress.position if self.progress else {}

    def totals(self, name: str) -> int:
        """Return a count of the sink in the completed checkpoints of this run."""
        return self.checkpoints.run.totals[name]

    @property
    def rejected(self) -> Mapping[str, int]:
        """The bad records of this run, by reason."""
        return self.checkpoints.run.rejected

    def lags(self) -> Iterator[tuple[str, int, int]]:
        """Yield topic, partition and lag of every partition whose position and end are known."""
        for (topic, partition), lag in partition_lags(self.position, self.ends or {}).items():
            yield topic, partition, lag

    def topics_of(self, source: KafkaSource) -> Offsets:
        """Return the next offsets of the topics of one source."""
        return {topic: partitions for topic, partitions in self.position.items() if source.reads(topic)}


def take_snapshot(view: JobView) -> Snapshot:
    """Return the current state of a job."""
    job = view.job
    known = view.monitor.offset_query.last().result
    return Snapshot(
        at=view.now(),
        job_id=job.job_id,
        status=job.status,
        restarts=job.restarts,
        moved_at=job.moved_at,
        config=view.config,
        checkpoints=view.checkpoints(),
        progress=job.latest_progress,
        counters=job.counters,
        commits=job.counters.commits(),
        ends=view.monitor.latest,
        offsets=None if known is None else known[1],
    )
