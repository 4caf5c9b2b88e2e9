"""What the pipeline asks of a sink, whatever kind it is. No behaviour of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from milepost.checkpoint.model import Value
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.checkpoint.store.store import Place, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshStart:
    """What a start without the old state leaves behind."""

    place: Place
    recorded: Mapping[str, str]
    """The topic ids that the old state belongs to."""
    topic_ids: Mapping[str, str]
    """Those of today."""


class SinkParticipant(Protocol):
    """A sink's own part in every checkpoint, from the job's first attempt to its end."""

    def initialize_state(self, context: InitializationContext) -> None:
        """Begin from that checkpoint, whose notice may never have come; each attempt begins so."""

    def snapshot_state(self, context: SnapshotContext) -> Value | None:
        """Step 6: every writer has acknowledged. Return what a start from this checkpoint must know."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Step 9: the checkpoint is durable."""

    def close(self) -> None:
        """The job has ended."""


class SinkClaim(Protocol):
    """A job's entry among the writers of its sink, from its start to its end."""

    def watch(self, engine_job: Any) -> None:
        """Let the engine confirm it in step 6 of each checkpoint of an attempt."""

    def keep_versions(self, topics: str) -> None:
        """Record the eras of versions that the engine has begun, before anything is written with them."""


class SinkStage(Protocol):
    """The last stage of a pipeline."""

    @property
    def format(self) -> str:
        """The name of the engine's sink, for `writeStream.format`."""

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that identify a row; a record without a value has nothing else."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know although the job starts."""

    @property
    def nulls(self) -> str:
        """What a null does to the row that is there: skip leaves the value as it is."""

    def inspect(self, spark: SparkSession) -> SinkStage:
        """Ask the system that the rows go to; return the stage that knows, or refuse what cannot work."""

    def require_fresh_start_possible(self, start: FreshStart) -> None:
        """Refuse to begin anew where what is written then would not show."""

    def select(self, rows: DataFrame, origin: str) -> DataFrame:
        """Return just what the sink reads, or refuse columns that are not there."""

    def options(self) -> dict[str, str]:
        """Return what the engine's sink is told, but for the job and the bad-record policy."""

    def require_writable(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Refuse selected rows whose types the sink cannot write as it is told to."""

    def prepare(self, spark: SparkSession) -> None:
        """Make what is wanted and missing; called under the lease, when nothing runs yet."""

    def summary(self) -> str:
        """Return where the rows go, as a line for a person."""

    def participant(self, spark: SparkSession, job_id: str, store: Store) -> SinkParticipant | None:
        """Return the sink's own part in checkpoints; None where acknowledging writers is all there is to it."""
