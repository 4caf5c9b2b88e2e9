"""`checkpointing`: where, how often and with which guarantees a job takes checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from milepost.config.reading.faults import KeyFault
from milepost.config.section import Section
from milepost.config.values.units import format_duration
from milepost.config.values.value import (
    Count,
    Directory,
    Duration,
    PositiveDuration,
)

DEFAULT_TIMEOUT = timedelta(minutes=10)


def _only_one(value: int) -> int:
    if value != 1:
        raise ValueError("must be 1: a checkpoint is a Spark batch, and Spark runs one batch at a time")
    return value


class SavepointSchedule(Section):
    """Savepoints that the job takes on a schedule, and their retention; user-triggered savepoints are never removed."""

    interval: Duration = Field(
        default=timedelta(0), description="Time between scheduled savepoints; 0 disables them."
    )
    max_count: Annotated[Count, Field(ge=1)] = Field(
        default=10, description="Number of scheduled savepoints to keep."
    )
    max_age: PositiveDuration | None = Field(
        default=None, description="Maximum age of a scheduled savepoint; the newest is always kept."
    )
    unrestorable: Literal["keep", "delete"] = Field(
        default="delete",
        description="What to do with scheduled savepoints whose next records the broker no longer has.",
    )

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...


class Checkpointing(Section):
    """Where and how the job takes checkpoints."""

    dir: Directory = Field(
        description="Directory of the job's checkpoints; a start resumes from the newest one."
    )
    interval: Duration = Field(
        default=timedelta(seconds=10), description="Time between checkpoints; 0 takes them back to back."
    )
    mode: Literal["exactly-once", "at-least-once"] = Field(
        default="exactly-once",
        description="Delivery guarantee: whether a record that is replayed after a restart may have an effect twice.",
    )
    execution: Literal["micro-batch", "real-time"] = Field(
        default="micro-batch",
        description="Whether records are processed once per checkpoint or continuously.",
    )
    min_pause: Duration = Field(
        default=timedelta(0),
        description="Minimum time between the end of a checkpoint and the start of the next.",
    )
    timeout: PositiveDuration = Field(
        default_factory=lambda data: max(DEFAULT_TIMEOUT, data.get("interval", DEFAULT_TIMEOUT)),
        description="Time after which a checkpoint that is still in progress fails.",
        json_schema_extra={
            "default": f"{format_duration(DEFAULT_TIMEOUT)}, or the interval if that is longer"
        },
    )
    max_concurrent: Annotated[Count, AfterValidator(_only_one)] = Field(
        default=1, description="Maximum number of checkpoints in flight; must be 1."
    )
    tolerable_failures: Annotated[Count, Field(ge=0)] = Field(
        default=0, description="Number of consecutive failed checkpoints that do not fail the job."
    )
    retained: Annotated[Count, Field(ge=1, le=1_000_000)] = Field(
        default=10, description="Number of completed checkpoints to keep."
    )
    on_cancel: Literal["retain", "delete"] = Field(
        default="retain", description="What to do with the checkpoints of a cancelled job."
    )
    on_damage: Literal["fail", "fall-back"] = Field(
        default="fail",
        description="What a start does about damaged checkpoint files: fail, or use the newest intact checkpoint.",
    )
    state_backend: Literal["memory", "filesystem", "rocksdb"] = Field(
        default="rocksdb",
        description="Where the state of aggregations and joins is kept; memory loses it when the process ends.",
    )
    savepoint_dir: Directory | None = Field(
        default=None, description="Directory for savepoints, unless the request names another one."
    )
    savepoints: SavepointSchedule = Field(
        default_factory=SavepointSchedule, description="Savepoints on a schedule, written to savepoint-dir."
    )

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...

    def find_faults(self) -> Iterator[KeyFault]:
        """Yield the faults between the keys of checkpointing."""
        interval = format_duration(self.interval)
        if self.timeout < self.interval:
            message = f"is {format_duration(self.timeout)}, shorter than interval ({interval}); raise it"
            yield KeyFault(("timeout", "interval"), message)
        if self.min_pause > self.interval:
            message = (
                f"is {format_duration(self.min_pause)}, longer than interval ({interval}); raise interval"
            )
            yield KeyFault(("min-pause", "interval"), message)
        if self.savepoints.interval and self.savepoint_dir is None:
            message = "requires savepoint-dir, where scheduled savepoints are written"
            yield KeyFault(("savepoints", "savepoint-dir"), message)
        if self.execution == "real-time" and not self.interval:
            yield KeyFault(("interval", "execution"), "must be greater than zero in real-time execution")
