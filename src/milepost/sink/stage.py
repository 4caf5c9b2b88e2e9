"""The interfaces between the pipeline and its sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from milepost.checkpoint.model import Value
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.checkpoint.store.store import Store


class SinkParticipant(Protocol):
    """The participant of a sink, from the first attempt of the job to its end."""

    def initialize_state(self, context: InitializationContext) -> None:
        """Start an attempt from a checkpoint, whose notification may have been lost."""

    def snapshot_state(self, context: SnapshotContext) -> Value | None:
        """Step 6: every writer has acknowledged. Return the state for a start from this checkpoint."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Step 9: the checkpoint is durable."""

    def close(self) -> None:
        """The job has ended."""


class SinkClaim(Protocol):
    """The registration of a job as a writer of its sink, from its start to its end."""

    def watch(self, engine_job: Any) -> None:
        """Have the engine confirm it in step 6 of each checkpoint of an attempt."""

    def keep_versions(self, topics: str) -> None:
        """Record the version eras that the engine has started, before anything is written with them."""


class SinkStage(Protocol):
    """The sink of a pipeline."""

    @property
    def format(self) -> str:
        """The name of the engine's sink, for `writeStream.format`."""

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that identify a row; a record without a value has no others."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Problems that do not prevent the start."""

    @property
    def nulls(self) -> str:
        """How nulls are written; skip keeps the existing value."""

    def inspect(self, spark: SparkSession) -> SinkStage:
        """Inspect the target system; return the stage with the findings, or refuse a sink that cannot work."""

    def select(self, rows: DataFrame, origin: str) -> DataFrame:
        """Return the columns that the sink reads; refuse missing columns."""

    def options(self) -> dict[str, str]:
        """Return the options of the engine's sink, except for the job and the bad-record policy."""

    def require_writable(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Refuse selected rows whose types the sink cannot write with these options."""

    def prepare(self, spark: SparkSession) -> None:
        """Create missing resources, such as a table; called under the lease, before the query starts."""

    def summary(self) -> str:
        """Return the destination of the rows as a line of the start-up plan."""

    def participant(self, spark: SparkSession, job_id: str, store: Store) -> SinkParticipant | None:
        """Return the participant of the sink; None if the acknowledgements of its writers are sufficient."""
