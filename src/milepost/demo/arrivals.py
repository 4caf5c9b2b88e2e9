"""Takes down every record that a job receives, and lets the job fail on one of them.

What is taken down outlives an attempt, so that the next one can be compared with it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from milepost.transform import Transformation


class Arrival(NamedTuple):
    """One receipt of one record."""

    number: int
    """Counts the receipts, over all attempts, from 1."""
    attempt: int
    """Counts the attempts that received anything, from 1."""
    partition: int
    offset: int

    @property
    def record(self) -> tuple[int, int]:
        """Which record it was."""
        return self.partition, self.offset


def read(file: Path) -> list[Arrival]:
    """Return what was received, in the order of the receipts."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Arrival(*json.loads(line)) for line in lines]


def take_down(file: Path, attempt: int, partition: int, offset: int) -> int:
    """Add a receipt and return its number; one task at a time may do so."""
    number = len(read(file)) + 1
    with file.open("a", encoding="utf-8") as sink:
        sink.write(json.dumps(Arrival(number, attempt, partition, offset)) + "\n")
    return number


def seen_again(arrivals: Sequence[Arrival]) -> list[Arrival]:
    """Return the receipts of records that had been received before, in their order."""
    known: set[tuple[int, int]] = set()
    again = []
    for arrival in arrivals:
        if arrival.record in known:
            again.append(arrival)
        known.add(arrival.record)
    return again


def failing_on(number: int, file: Path) -> Transformation:
    """Return a transformation that passes records on as they are, until the sink is to take that receipt.

    The records are taken down before the sink has them: Spark hands them to Python some at a time.
    """

    def transformation(rows: DataFrame) -> DataFrame:
        # The job builds its query anew in each attempt, so this is called once in each.
        attempt = max((arrival.attempt for arrival in read(file)), default=0) + 1
        # Spark may evaluate a deterministic function twice, and would then count one receipt as two.
        receipt = F.udf(
            lambda partition, offset: take_down(file, attempt, partition, offset), "int"
        ).asNondeterministic()
        failure = F.raise_error(F.lit(f"the sink fails on record number {number}"))
        return (
            # One task for all partitions: the story is then the same each time.
            rows.coalesce(1)
            .withColumn("receipt", receipt("_kafka.partition", "_kafka.offset"))
            .withColumn(
                "id", F.when(F.col("receipt") == number, failure.cast("string")).otherwise(F.col("id"))
            )
        )

    return transformation
