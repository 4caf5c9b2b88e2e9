"""Rolls the rows of a table back to a checkpoint boundary, or counts what a roll back would change.

A query selects the rows: it streams the records since the boundary, or reads the keys of rows with newer versions.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from milepost.checkpoint.versions.rollback import REPLAY, Rewind
from milepost.config import HBaseSink
from milepost.engine import jvm
from milepost.errors import PreflightError
from milepost.sink.hbase import connection_options
from milepost.sink.table import TableFacts

OPTION = "roll-back"
_EXAMPLES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackCounts:
    """The rows that were written after a boundary, and their cells by what a roll back does with them."""

    rows: int = 0
    same: int = 0
    """Cells with the value of the boundary."""
    restored: int = 0
    """Cells whose older value is restored."""
    removed: int = 0
    """Cells that did not exist at the boundary."""
    lost: int = 0
    """Cells whose older value HBase may have removed; they are left unchanged."""
    examples: tuple[str, ...] = ()
    """Some of the lost cells: row, family and qualifier."""


def require_older_versions(sink: HBaseSink, facts: TableFacts) -> None:
    """Refuse a table that cannot hold values older than the newest."""
    if sink.guard == "cas":
        raise PreflightError(
            f"Table {sink.table!r} cannot be rolled back: it is guarded by cas",
            why="its cells have HBase's own timestamps, which do not identify the record",
            fix=REPLAY,
        )
    if sink.version not in ("offset", "checkpoint"):
        raise PreflightError(
            f"Table {sink.table!r} cannot be rolled back: its versions are neither offsets nor checkpoint ids",
            why="a timestamp or a column does not say whether its record is before or after the boundary",
            fix=REPLAY,
        )
    single = sorted(family for family in sink.columns if facts.families[family].versions < 2)
    if single:
        raise PreflightError(
            f"Table {sink.table!r} cannot be rolled back: family {', '.join(map(repr, single))} keeps 1 version",
            why="overwritten values are gone",
            fix=f"{REPLAY}. To allow it in the future: alter '{sink.table}', NAME => '{single[0]}', VERSIONS => 3",
        )


def rollback_option(sink: HBaseSink, facts: TableFacts, limits: Rewind, *, apply: bool) -> dict[str, str]:
    """Return the option that makes the sink roll rows back; without `apply` the sink only counts."""
    families = {
        family: {
            "versions": facts.families[family].versions,
            "keeps-deleted": facts.families[family].keep_deleted_cells == "true",
        }
        for family in sink.columns
    }
    document = {
        "id": uuid.uuid4().hex,
        "generation": limits.generation,
        "apply": apply,
        "limit": limits.limit,
        "limits": {t: {str(p): limit for p, limit in parts.items()} for t, parts in limits.limits.items()},
        "families": families,
    }
    return {OPTION: json.dumps(document)}


def run_and_count(spark: SparkSession, option: Mapping[str, str], run: Callable[[], None]) -> RollbackCounts:
    """Run a query with the option, and return the counts of its writers."""
    plan_id = json.loads(option[OPTION])["id"]
    reports = jvm(spark).io.milepost.hbase.rollback.RollbackReports
    try:
        run()
    finally:
        batches = [str(batch) for batch in reports.take(plan_id)]
    return sum_reports(batches)


def sum_reports(batches: list[str]) -> RollbackCounts:
    """Sum up the reports of all writers, given as JSON arrays."""
    reports = [report for batch in batches for report in json.loads(batch)]
    counts = {
        name: sum(report[name] for report in reports)
        for name in ("rows", "same", "restored", "removed", "lost")
    }
    examples = [example for report in reports for example in report["examples"]]
    return RollbackCounts(**counts, examples=tuple(examples[:_EXAMPLES]))


def roll_back_newer_rows(spark: SparkSession, sink: HBaseSink, limit: int, option: Mapping[str, str]) -> None:
    """Roll back every row that has a cell or a delete marker of at least this version."""
    options = connection_options(sink)
    columns = json.dumps({family: dict(names) for family, names in sink.columns.items()})
    cells = spark.read.format("milepost-hbase").options(**options, raw="true", columns=columns).load()
    rows = cells.filter(f"version >= {limit}").select("row").distinct()
    rows.write.format("milepost-hbase").options(**options, **option).mode("append").save()
