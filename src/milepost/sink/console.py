"""DataFrame -> standard output of the driver: prints the first rows of each completed checkpoint."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.checkpoint.store.store import Store
from milepost.config import ConsoleSink
from milepost.sink import collected_rows
from milepost.sink.collected_rows import CollectedRows

_MAX_WIDTH = 60


@dataclass(frozen=True, slots=True)
class ConsoleStage:
    """Standard output as the sink of a pipeline."""

    sink: ConsoleSink
    warnings: tuple[str, ...] = ()

    format = collected_rows.FORMAT
    key_columns = ()
    nulls = "empty"

    def inspect(self, spark: SparkSession) -> ConsoleStage:
        """Return the stage; there is nothing to inspect."""
        return self

    def select(self, rows: DataFrame, origin: str) -> DataFrame:
        """Return the rows without the origin."""
        return rows.drop(origin)

    def options(self) -> dict[str, str]:
        """Return the maximum number of rows that a task collects."""
        return {"rows": str(self.sink.rows)}

    def require_writable(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Accept all rows: every value can be printed."""

    def prepare(self, spark: SparkSession) -> None:
        """Do nothing."""

    def summary(self) -> str:
        """Return the destination of the rows."""
        return f"to standard output, at most {self.sink.rows} rows of each checkpoint"

    def participant(self, spark: SparkSession, job_id: str, store: Store) -> ConsoleParticipant:
        """Return the participant that prints the rows."""
        return ConsoleParticipant(
            self.sink.rows, lambda number: CollectedRows.take(spark, job_id, number), sys.stdout.write
        )


class ConsoleParticipant:
    """Keeps the first rows of a checkpoint and prints them when it completes, so that replays are not printed."""

    def __init__(
        self, most: int, take: Callable[[int], CollectedRows], write: Callable[[str], object]
    ) -> None:
        """Print at most `most` rows of each checkpoint with `write`."""
        self._most = most
        self._take = take
        self._write = write
        self._kept: dict[int, str] = {}

    def initialize_state(self, context: InitializationContext) -> None:
        """Discard the rows of an earlier attempt: they are replayed."""
        self._kept.clear()

    def snapshot_state(self, context: SnapshotContext) -> None:
        """Keep the first rows of the checkpoint."""
        rows = self._take(context.checkpoint_id)
        first = [row for page in rows.pages for row in page][: self._most]
        self._kept[context.checkpoint_id] = format_rows(context.checkpoint_id, first, rows.count)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Print the rows of the checkpoint."""
        self._write(self._kept.pop(checkpoint_id, ""))

    def close(self) -> None:
        """Do nothing."""


def format_rows(checkpoint_id: int, rows: Sequence[Row], count: int) -> str:
    """Return the rows as a table with the id of the checkpoint; empty if there are no rows."""
    if not rows:
        return ""
    head = list(rows[0].__fields__)
    lines = [head, *([_text(value) for value in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    table = ("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in lines)
    title = f"checkpoint {checkpoint_id}: {count} {'row' if count == 1 else 'rows'}"
    more = [f"  … {count - len(rows)} more"] if count > len(rows) else []
    return "\n".join([title, *(f"  {line.rstrip()}" for line in table), *more]) + "\n"


def _text(value: Any) -> str:
    text = "null" if value is None else str(value).replace("\n", "\\n")
    return text if len(text) <= _MAX_WIDTH else f"{text[: _MAX_WIDTH - 1]}…"
