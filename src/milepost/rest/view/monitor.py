"""All that a server watches of one job beside the job's own memory."""

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
from milepost.rest.view.background_query import Answer, Asking
from milepost.rest.view.history_cache import Recollection
from milepost.rest.view.restore_checks import Rehearsals
from milepost.rest.view.sampler import Sampler
from milepost.rest.view.savepoint_index import Shelf

if TYPE_CHECKING:
    from milepost.rest.view.live_view import RunningJob

OFFSETS_FRESH_FOR = 5.0
OLDEST_OF_A_PASSED_CHECKPOINT = 1.0
"""Seconds: a page that is asked for without a pause must not ask the broker without one."""
_ENDS_EVERY = 5.0
_COMPARED_EVERY = 60.0
# The end of a job does not wait for a broker that is away.
_LINGER = 0.2

Standing = tuple[CompletedCheckpoint, list[PartitionOffsets]]
"""A checkpoint, and how each of its partitions stands against group and broker."""


class Watch:
    """Samples, history, broker and savepoints of one job. Without `running` nothing is sampled."""

    def __init__(self, job: RunningJob, config: Config) -> None:
        """Ask nobody yet."""
        self._job = job
        self._config = config
        self._store = Store.at(config.checkpointing.dir)
        self._topic_ends = kafka_query.TopicEnds(config)
        self._ends = EndOffsets(self._asked_ends, _ENDS_EVERY, _LINGER)
        self._compared_at = 0.0
        interval = config.checkpointing.interval.total_seconds()
        self.sampler = Sampler(lambda: job.latest_progress, lambda: self.latest, interval)
        self.recollection = Recollection(self._store)
        self.offsets: Asking[Standing] = Asking(self._compared, name="offsets", redact=config.redact)
        self.shelf = Shelf(config.checkpointing.savepoint_dir)
        self.rehearsals = Rehearsals(self._rehearsed, config.redact)

    @property
    def latest(self) -> Offsets | None:
        """The ends of the topics as they were a moment ago; None while the broker does not answer."""
        return self._ends.latest

    @contextmanager
    def running(self) -> Iterator[None]:
        """Sample the job until the block ends."""
        with ExitStack() as stack:
            stack.enter_context(self._ends)
            stack.enter_context(self.sampler.running())
            yield

    def newest(self) -> CompletedCheckpoint | None:
        """Return the checkpoint that a restart would begin from, with its topics' ids."""
        checkpoints = self._job.checkpoints
        with checkpoints.changed:
            newest = checkpoints.stats.newest
        return newest

    def standing(self) -> Answer[Standing]:
        """Return how the newest checkpoint stands; one that has completed since the broker was asked is asked for."""
        newest, known = self.newest(), self.offsets.known().result
        is_passed = known is not None and newest is not None and known[0] != newest
        return self.offsets.look(OLDEST_OF_A_PASSED_CHECKPOINT if is_passed else OFFSETS_FRESH_FOR)

    def _asked_ends(self) -> Offsets:
        # Alerts need to know how long the newest checkpoint can be restored, also while nobody looks at a page.
        now = time.monotonic()
        if now - self._compared_at >= _COMPARED_EVERY and self.newest() is not None:
            self._compared_at = now
            self.offsets.look(OFFSETS_FRESH_FOR)
        return self._topic_ends()

    def _compared(self) -> Standing:
        kafka_query.require_secrets(self._config)
        checkpoint = self.newest()
        if checkpoint is None:
            raise NotReachableError(
                "There is no completed checkpoint yet", fix="Wait for the first, or trigger one"
            )
        return checkpoint, compare(
            self._config, checkpoint, timeout=kafka_query.TIMEOUT, now_ms=int(time.time() * 1000)
        )

    def _rehearsed(self, savepoint: Savepoint) -> RestoreCheck:
        """Look at what can be looked at: files tell a lot while Kafka is away."""
        try:
            kafka_query.require_secrets(self._config)
            return check_restore(
                self._config, savepoint, timeout=kafka_query.TIMEOUT, now_ms=int(time.time() * 1000)
            )
        except NotReachableError as error:
            return check_restore_offline(self._config, savepoint, self._config.redact(str(error)))
