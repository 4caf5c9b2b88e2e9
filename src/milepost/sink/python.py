"""DataFrame -> a class of the user's own, which runs on the driver and takes part in every checkpoint.

Why there, and what follows from it: docs/decisions/0011-python-sinks-run-on-the-driver.md.
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
from milepost.sink.stage import FreshStart

_INVOKE = ("invoke", "invoke_batch")
_METHODS = ("open", *_INVOKE, "snapshot", "notify", "close")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PythonStage:
    """A user's class as the last stage of a pipeline."""

    reference: str
    make: Callable[[], Any]
    warnings: tuple[str, ...] = ()

    format = collected_rows.FORMAT
    key_columns = ()
    nulls = "empty"

    def inspect(self, spark: SparkSession) -> PythonStage:
        """Refuse a class that takes no rows."""
        if not any(callable(getattr(self.make, method, None)) for method in _INVOKE):
            raise PreflightError(
                f"sink.python names {self.reference}, which has neither invoke(row) nor invoke_batch(rows)",
                why="nothing would take the rows",
                fix=f"Give the class one of them; it may have {', '.join(_METHODS)}",
            )
        return self

    def require_fresh_start_possible(self, start: FreshStart) -> None:
        """Nothing to refuse: the class is opened without a state."""

    def select(self, rows: DataFrame, origin: str) -> DataFrame:
        """Return all columns, also the one that says which record a row comes from."""
        return rows

    def options(self) -> dict[str, str]:
        """Return nothing: all rows are brought."""
        return {}

    def require_writable(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Nothing to refuse: PySpark has a Python type for each of its own."""

    def prepare(self, spark: SparkSession) -> None:
        """Nothing to make."""

    def summary(self) -> str:
        """Return the class."""
        return f"into Python's {self.reference}, on the driver"

    def participant(self, spark: SparkSession, job_id: str, store: Store) -> PythonParticipant:
        """Return what hands the rows of each checkpoint to the class."""
        return PythonParticipant(self.make, lambda number: CollectedRows.take(spark, job_id, number))


class PythonParticipant:
    """Hands the rows of a checkpoint to the user's object in step 6, right before its snapshot."""

    def __init__(self, make: Callable[[], Any], take: Callable[[int], CollectedRows]) -> None:
        """Make nothing yet: each attempt has an object of its own."""
        self._make = make
        self._take = take
        self._sink: Any = None

    def initialize_state(self, context: InitializationContext) -> None:
        """Close what an earlier attempt has left, and open a new object with the state of the checkpoint."""
        self.close()
        sink = self._make()
        _call(sink, "open", context)
        self._sink = sink

    def snapshot_state(self, context: SnapshotContext) -> Value | None:
        """Give every row to the object, then ask for its state."""
        for rows in self._take(context.checkpoint_id).pages:
            if hasattr(self._sink, "invoke_batch"):
                self._sink.invoke_batch(rows)
            else:
                for row in rows:
                    self._sink.invoke(row)
        state: Value | None = _call(self._sink, "snapshot", context.checkpoint_id)
        return state

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tell the object that what it was given up to this checkpoint will not come again."""
        _call(self._sink, "notify", checkpoint_id)

    def close(self) -> None:
        """Close the object; what it raises then changes nothing any more."""
        sink, self._sink = self._sink, None
        try:
            _call(sink, "close")
        except Exception:
            log.warning("While the Python sink was closed", exc_info=True)


def _call(sink: Any, method: str, *arguments: Any) -> Any:
    function = getattr(sink, method, None)
    return None if function is None else function(*arguments)
