"""DataFrame -> a user-defined class, which runs on the driver and takes part in every checkpoint.

For the reasons see docs/decisions/0011-python-sinks-run-on-the-driver.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from milepost.checkpoint.model import Value
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError
from milepost.sink import collected_rows
from milepost.sink.collected_rows import CollectedRows

_INVOKE = ("invoke", "invoke_batch")
_METHODS = ("open", *_INVOKE, "snapshot", "notify", "close")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PythonStage:
    """A user-defined class as the sink of a pipeline."""

    reference: str
    make: Callable[[], Any]
    warnings: tuple[str, ...] = ()

    format = collected_rows.FORMAT
    key_columns = ()
    nulls = "empty"

    def inspect(self, spark: SparkSession) -> PythonStage:
        """Refuse a class without a method for rows."""
        if not any(callable(getattr(self.make, method, None)) for method in _INVOKE):
            raise PreflightError(
                f"sink.python names {self.reference}, which has neither invoke(row) nor invoke_batch(rows)",
                why="the class could not receive rows",
                fix=f"Add one of them to the class; its optional methods are {', '.join(_METHODS)}",
            )
        return self

    def select(self, rows: DataFrame, origin: str) -> DataFrame:
        """Return all columns, including the origin."""
        return rows

    def options(self) -> dict[str, str]:
        """Return no options: all rows are collected."""
        return {}

    def require_writable(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Accept all rows: PySpark can convert every type to Python."""

    def prepare(self, spark: SparkSession) -> None:
        """Do nothing."""

    def summary(self) -> str:
        """Return the class."""
        return f"into Python class {self.reference}, on the driver"

    def participant(self, spark: SparkSession, job_id: str, store: Store) -> PythonParticipant:
        """Return the participant that passes the rows of each checkpoint to the class."""
        return PythonParticipant(self.make, lambda number: CollectedRows.take(spark, job_id, number))


class PythonParticipant:
    """Passes the rows of a checkpoint to the user-defined object in step 6, right before its snapshot."""

    def __init__(self, make: Callable[[], Any], take: Callable[[int], CollectedRows]) -> None:
        """Create no object yet: each attempt has its own."""
        self._make = make
        self._take = take
        self._sink: Any = None

    def initialize_state(self, context: InitializationContext) -> None:
        """Close the object of an earlier attempt, and open a new one with the state of the checkpoint."""
        self.close()
        sink = self._make()
        _call(sink, "open", context)
        self._sink = sink

    def snapshot_state(self, context: SnapshotContext) -> Value | None:
        """Pass every row to the object, then return its state."""
        for rows in self._take(context.checkpoint_id).pages:
            if hasattr(self._sink, "invoke_batch"):
                self._sink.invoke_batch(rows)
            else:
                for row in rows:
                    self._sink.invoke(row)
        state: Value | None = _call(self._sink, "snapshot", context.checkpoint_id)
        return state

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Notify the object that the rows up to this checkpoint will not be replayed."""
        _call(self._sink, "notify", checkpoint_id)

    def close(self) -> None:
        """Close the object; exceptions are logged and ignored."""
        sink, self._sink = self._sink, None
        try:
            _call(sink, "close")
        except Exception:
            log.warning("The Python sink failed to close", exc_info=True)


def _call(sink: Any, method: str, *arguments: Any) -> Any:
    function = getattr(sink, method, None)
    return None if function is None else function(*arguments)
