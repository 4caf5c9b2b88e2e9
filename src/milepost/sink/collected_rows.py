"""The rows of a checkpoint that the engine has collected on the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.serializers import CPickleSerializer
from pyspark.sql import Row, SparkSession

from milepost.engine import jvm

FORMAT = "milepost-rows"
"""The sink of the engine that collects the rows."""


@dataclass(frozen=True, slots=True)
class CollectedRows:
    """The rows, page by page; they can be read only once."""

    count: int
    """The number of rows, including those above the limit."""
    pages: Iterator[list[Row]]

    @classmethod
    def take(cls, spark: SparkSession, job_id: str, checkpoint_id: int) -> CollectedRows:
        """Return the rows that the writers of this checkpoint have acknowledged."""
        rows = jvm(spark).io.milepost.collect.CollectedRows.take(job_id, checkpoint_id)
        return cls(int(rows.rows()), _pages(rows))


def _pages(rows: Any) -> Iterator[list[Row]]:
    pickle: Any = CPickleSerializer()  # PySpark has no types for it
    for number in range(rows.pages()):
        yield pickle.loads(bytes(rows.page(number)))
