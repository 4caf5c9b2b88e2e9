"""Records every arrival of a record in a file, and lets the job fail on one of them.

The file outlives an attempt, so that the next attempt can be compared with it.
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
    """One arrival of one record."""

    number: int
    """Counts the arrivals over all attempts, from 1."""
    attempt: int
    """Counts the attempts that received anything, from 1."""
    partition: int
    offset: int

    @property
    def record(self) -> tuple[int, int]:
        """The partition and the offset of the record."""
        return self.partition, self.offset


def read(file: Path) -> list[Arrival]:
    """Return the arrivals in their order."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Arrival(*json.loads(line)) for line in lines]


def record_arrival(file: Path, attempt: int, partition: int, offset: int) -> int:
    """Append an arrival and return its number; only one task at a time may call this."""
    number = len(read(file)) + 1
    with file.open("a", encoding="utf-8") as sink:
        sink.write(json.dumps(Arrival(number, attempt, partition, offset)) + "\n")
    return number


def repeated_arrivals(arrivals: Sequence[Arrival]) -> list[Arrival]:
    """Return the arrivals of records that had arrived before, in their order."""
    known: set[tuple[int, int]] = set()
    repeated = []
    for arrival in arrivals:
        if arrival.record in known:
            repeated.append(arrival)
        known.add(arrival.record)
    return repeated


def fail_on(number: int, file: Path) -> Transformation:
    """Return a transformation that does not change records and raises an error on the arrival with this number.

    Arrivals are recorded before the sink gets the records: Spark passes them to Python in groups.
    """

    def transformation(rows: DataFrame) -> DataFrame:
        # The job builds its query again in each attempt, so this is called once per attempt.
        attempt = max((arrival.attempt for arrival in read(file)), default=0) + 1
        # Spark may evaluate a deterministic function twice and would then count one arrival as two.
        number_of = F.udf(
            lambda partition, offset: record_arrival(file, attempt, partition, offset), "int"
        ).asNondeterministic()
        failure = F.raise_error(F.lit(f"the sink fails on record number {number}"))
        return (
            # One task for all partitions, so that the output is the same each time.
            rows.coalesce(1)
            .withColumn("arrival", number_of("_kafka.partition", "_kafka.offset"))
            .withColumn(
                "id", F.when(F.col("arrival") == number, failure.cast("string")).otherwise(F.col("id"))
            )
        )

    return transformation
