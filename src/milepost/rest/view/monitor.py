"""Collects the data about a job that is not in its memory: samples, history, broker offsets, savepoints."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from milepost.checkpoint.model import CompletedCheckpoint, Offsets
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.store.store import Store
from milepost.config import Config
from milepost.errors import NotReachableError
from milepost.inspect.offsets import PartitionOffsets, compare
from milepost.inspect.restore_check import RestoreCheck, check_restore, check_restore_offline
from milepost.job.monitoring.end_offsets import EndOffsets
from milepost.rest.view import kafka_query
from milepost.rest.view.background_query import BackgroundQuery, QueryState
from milepost.rest.view.history_cache import HistoryCache
from milepost.rest.view.restore_checks import RestoreChecks
from milepost.rest.view.sampler import Sampler
from milepost.rest.view.savepoint_index import SavepointIndex

if TYPE_CHECKING:
    from milepost.rest.view.job_view import RunningJob

OFFSETS_FRESH_FOR = 5.0
OLDEST_OF_A_PASSED_CHECKPOINT = 1.0
"""Seconds. Limits how often a page that reloads without a pause queries the broker."""
_ENDS_EVERY = 5.0
_COMPARED_EVERY = 60.0
# The end of a job does not wait for a broker that is down.
_LINGER = 0.2

OffsetComparison = tuple[CompletedCheckpoint, list[PartitionOffsets]]
"""A checkpoint, and its partitions compared with group and broker."""


class Monitor:
    """The samples, history, broker offsets and savepoints of one job; samples are taken only inside `running`."""

    def __init__(self, job: RunningJob, config: Config) -> None:
        self._job = job
        self._config = config
        self._store = Store.at(config.checkpointing.dir)
        self._topic_ends = kafka_query.TopicEnds(config)
        self._ends = EndOffsets(self._fetch_ends, _ENDS_EVERY, _LINGER)
        self._compared_at = 0.0
        interval = config.checkpointing.interval.total_seconds()
        self.sampler = Sampler(lambda: job.latest_progress, lambda: self.latest, interval)
        self.history = HistoryCache(self._store)
        self.offset_query: BackgroundQuery[OffsetComparison] = BackgroundQuery(
            self._compare_offsets, name="offsets", redact=config.redact
        )
        self.savepoints = SavepointIndex(config.checkpointing.savepoint_dir)
        self.restore_checks = RestoreChecks(self._check_restore, config.redact)

    @property
    def latest(self) -> Offsets | None:
        """The recent end offsets of the topics; None while the broker does not respond."""
        return self._ends.latest

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take samples until the block ends."""
        with ExitStack() as stack:
            stack.enter_context(self._ends)
            stack.enter_context(self.sampler.running())
            yield

    def newest(self) -> CompletedCheckpoint | None:
        """Return the checkpoint that a restart resumes from."""
        checkpoints = self._job.checkpoints
        with checkpoints.changed:
            newest = checkpoints.stats.newest
        return newest

    def offset_comparison(self) -> QueryState[OffsetComparison]:
        """Return the newest checkpoint compared with the broker; a newer checkpoint triggers a new query."""
        newest, known = self.newest(), self.offset_query.last().result
        is_passed = known is not None and newest is not None and known[0] != newest
        return self.offset_query.get(OLDEST_OF_A_PASSED_CHECKPOINT if is_passed else OFFSETS_FRESH_FOR)

    def _fetch_ends(self) -> Offsets:
        # Alerts need the remaining retention of the newest checkpoint even while no page is open.
        now = time.monotonic()
        if now - self._compared_at >= _COMPARED_EVERY and self.newest() is not None:
            self._compared_at = now
            self.offset_query.get(OFFSETS_FRESH_FOR)
        return self._topic_ends()

    def _compare_offsets(self) -> OffsetComparison:
        kafka_query.require_secrets(self._config)
        checkpoint = self.newest()
        if checkpoint is None:
            raise NotReachableError(
                "There is no completed checkpoint yet", fix="Wait for the first, or trigger one"
            )
        return checkpoint, compare(
            self._config, checkpoint, timeout=kafka_query.TIMEOUT, now_ms=int(time.time() * 1000)
        )

    def _check_restore(self, savepoint: Savepoint) -> RestoreCheck:
        """Check as much as possible: the files can be checked while Kafka is down."""
        try:
            kafka_query.require_secrets(self._config)
            return check_restore(
                self._config, savepoint, timeout=kafka_query.TIMEOUT, now_ms=int(time.time() * 1000)
            )
        except NotReachableError as error:
            return check_restore_offline(self._config, savepoint, self._config.redact(str(error)))
