"""The specification of a job: its configuration, its parts and the options of one start. Values only."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.savepoint.claim import ClaimMode
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.store import identity
from milepost.checkpoint.store.store import Store
from milepost.config import Checkpointing, Config
from milepost.job.startup.table_ownership import TableUse
from milepost.transform import Transformation


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """The options of one start, in addition to the configuration."""

    fresh: bool = False
    """Start without the state in the checkpoint directory."""
    allow_non_restored_state: bool = False
    """Start even if a participant with state in the checkpoint is gone, or the savepoint belongs to another job."""
    savepoint: Savepoint | None = None
    """Start from this savepoint instead of the checkpoint directory."""
    claim_mode: ClaimMode = "no-claim"
    """The owner of the savepoint afterwards."""
    table: TableUse = TableUse.CLAIM
    """How the other writers of an HBase table are treated."""

    def discards_state(self, checkpointing: Checkpointing) -> bool:
        """Return whether the state that an earlier process left in the checkpoint directory is set aside."""
        ends_with_process = checkpointing.state_backend == "memory"
        return self.savepoint is None and (self.fresh or ends_with_process)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """Everything that an attempt at running a pipeline is built from."""

    spark: SparkSession
    config: Config
    folder: Path
    log: Path
    transformation: Transformation | None = None
    participants: Participants = field(default_factory=lambda: Participants([]))
    options: StartOptions = field(default_factory=StartOptions)
    warn: Callable[[str], None] = logging.getLogger(__name__).warning
    job_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    is_first: bool = True
    """Whether this is for the first attempt of this process."""
    discarded_topics: Mapping[str, str] = field(default_factory=dict)
    """The ids of the topics that the job had read when this process began."""

    @property
    def discards_state(self) -> bool:
        """Whether the state that an earlier process left in the checkpoint directory is set aside."""
        return self.is_first and self.options.discards_state(self.config.checkpointing)

    @property
    def savepoint(self) -> Savepoint | None:
        """The savepoint that replaces the state in the checkpoint directory."""
        return self.options.savepoint if self.is_first else None

    def for_restart(self, store: Store) -> JobSpec:
        """Return the spec of later attempts, which resume from the state that the first leaves in this directory."""
        # Before the first batch an attempt starts from the group's offsets, which may belong to these topics.
        topics = identity.recorded(store) if self.savepoint is None else {}
        return replace(self, is_first=False, discarded_topics=topics)
