"""`checkpointing`: where, how often and how strictly the job's progress is made durable."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

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
        raise ValueError("must be 1: a checkpoint is a Spark batch, and Spark runs one batch after the other")
    return value


class SavepointSchedule(Section):
    """Savepoints that the job takes by itself, and how long it keeps them; those of users are never removed."""

    interval: Duration = Field(
        default=timedelta(0), description="Time between scheduled savepoints; 0 takes none."
    )
    max_count: Annotated[Count, Field(ge=1)] = Field(default=10, description="Scheduled savepoints to keep.")
    max_age: PositiveDuration | None = Field(
        default=None, description="Age at which a scheduled savepoint is removed; the newest is always kept."
    )
    unrestorable: Literal["keep", "delete"] = Field(
        default="delete",
        description="What happens to scheduled savepoints whose next records the broker no longer has.",
    )

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...


class Checkpointing(Section):
    """How the job's progress is made durable."""

    dir: Directory = Field(
        description="Directory of this job's checkpoints; a start resumes from the newest one in it."
    )
    interval: Duration = Field(
        default=timedelta(seconds=10), description="Time between checkpoints; 0 takes one after the other."
    )
    mode: Literal["exactly-once", "at-least-once"] = Field(
        default="exactly-once",
        description="Whether a record that is read again after a restart may show in the table a second time.",
    )
    execution: Literal["micro-batch", "real-time"] = Field(
        default="micro-batch",
        description="Whether records are processed at each checkpoint, or all the time.",
    )
    min_pause: Duration = Field(
        default=timedelta(0), description="Shortest time between the end of one checkpoint and the next."
    )
    timeout: PositiveDuration = Field(
        default_factory=lambda data: max(DEFAULT_TIMEOUT, data.get("interval", DEFAULT_TIMEOUT)),
        description="Time after which a checkpoint has failed.",
        json_schema_extra={
            "default": f"{format_duration(DEFAULT_TIMEOUT)}, or the interval where that is longer"
        },
    )
    max_concurrent: Annotated[Count, AfterValidator(_only_one)] = Field(
        default=1, description="Checkpoints in flight; Spark has one."
    )
    tolerable_failures: Annotated[Count, Field(ge=0)] = Field(
        default=0, description="Failed checkpoints that do not fail the job."
    )
    retained: Annotated[Count, Field(ge=1, le=1_000_000)] = Field(
        default=10, description="Completed checkpoints to keep."
    )
    on_cancel: Literal["retain", "delete"] = Field(
        default="retain", description="What happens to the checkpoints of a cancelled job."
    )
    on_damage: Literal["fail", "fall-back"] = Field(
        default="fail",
        description="What a start does with damaged checkpoint files: refuse, or resume from the newest complete one.",
    )
    state_backend: Literal["memory", "filesystem", "rocksdb"] = Field(
        default="rocksdb",
        description="What holds the state of aggregations and joins; with memory it ends with the process.",
    )
    savepoint_dir: Directory | None = Field(
        default=None, description="Directory in which savepoints are made, unless the request names another."
    )
    savepoints: SavepointSchedule = Field(
        default_factory=SavepointSchedule, description="Savepoints on a schedule, in savepoint-dir."
    )

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the faults between the keys of checkpointing."""
        interval = format_duration(self.interval)
        if self.timeout < self.interval:
            message = f"is {format_duration(self.timeout)}, shorter than interval ({interval}); raise it"
            yield ("timeout", "interval"), message
        if self.min_pause > self.interval:
            message = (
                f"is {format_duration(self.min_pause)}, longer than interval ({interval}); raise interval"
            )
            yield ("min-pause", "interval"), message
        if self.savepoints.interval and self.savepoint_dir is None:
            message = "needs savepoint-dir: a schedule has to put savepoints somewhere"
            yield ("savepoints", "savepoint-dir"), message
        if self.execution == "real-time" and not self.interval:
            yield ("interval", "execution"), "must be longer than zero in real-time execution"
