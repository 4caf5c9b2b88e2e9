"""Transformations with state, for deduplication.yaml and transform-with-state.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


def first_of_each_id(events: DataFrame) -> DataFrame:
    """Drop events whose id was seen within the delay of the watermark."""
    return events.dropDuplicatesWithinWatermark(["id"])


def count_changes(readings: DataFrame) -> DataFrame:
    """Count how often each sensor has changed since its first reading."""
    placed = readings.filter("NOT _kafka.tombstone").selectExpr("sensor", "is_on", "_kafka.offset AS place")
    return placed.groupBy("sensor").transformWithState(
        statefulProcessor=Changes(),
        outputStructType="sensor STRING, is_on BOOLEAN, changes BIGINT",
        outputMode="update",
        timeMode="None",
    )


class Changes(StatefulProcessor):
    """Keeps the last reading of a sensor and its number of changes; all readings of a sensor are in one partition."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Define the state of each sensor and its columns."""
        self._last = handle.getValueState("last", "is_on BOOLEAN, changes BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Process the readings of one sensor in one checkpoint, in the order in which they were sent."""
        is_on, changes = self._last.get() if self._last.exists() else (None, 0)
        for row in sorted(rows, key=lambda row: row.place):
            changes += is_on is not None and row.is_on != is_on
            is_on = row.is_on
        self._last.update((is_on, changes))
        yield Row(sensor=key[0], is_on=is_on, changes=changes)

    def close(self) -> None:
        """Do nothing."""
