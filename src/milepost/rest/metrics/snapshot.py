"""All that metrics are read from, at one moment; from memory, so that a scrape costs neither Spark nor Kafka."""

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
from milepost.rest.view.live_view import Checkpoints, Served
from milepost.source.committer import CommitStats
from milepost.source.positions import partition_lags


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A job as it is seen now."""

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
    """What became of the commits to the group of each view."""
    ends: Offsets | None = None
    """The ends of the topics, as the broker said a moment ago; None while it does not answer."""
    standing: Sequence[PartitionOffsets] | None = None
    """How the newest checkpoint stood against the broker when that was last looked at."""

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

    def source_of(self, topic: str) -> str | None:
        """Return the view that reads a topic."""
        return next((view for view, source in self.config.views.items() if source.reads(topic)), None)

    def lags(self) -> Iterator[tuple[str, int, int]]:
        """Yield topic, partition and how many offsets lie before its end; where both are known."""
        for (topic, partition), lag in partition_lags(self.position, self.ends or {}).items():
            yield topic, partition, lag

    def topics_of(self, source: KafkaSource) -> Offsets:
        """Return the next offsets of the topics of one source."""
        return {topic: partitions for topic, partitions in self.position.items() if source.reads(topic)}


def moment_of(served: Served) -> Moment:
    """Return how a job stands now."""
    job = served.job
    known = served.watch.offsets.known().result
    return Moment(
        at=served.now(),
        job_id=job.job_id,
        status=job.status,
        restarts=job.restarts,
        moved_at=job.moved_at,
        config=served.config,
        checkpoints=served.checkpoints(),
        progress=job.latest_progress,
        counters=job.counters,
        commits=job.counters.commits(),
        ends=served.watch.latest,
        standing=None if known is None else known[1],
    )
