"""Brings the rows of a table back to what they were at a boundary, or only looks what that would change.

Which rows are meant comes as a query: a stream of the records since then, or the keys of rows with newer versions.
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
class Rewound:
    """What was found in the rows that were written after a boundary; cells are counted."""

    rows: int = 0
    same: int = 0
    """They show what they showed then."""
    restored: int = 0
    """An older value is there, and is brought back."""
    removed: int = 0
    """They were not there then."""
    lost: int = 0
    """HBase may have removed what was there then; they are left as they are."""
    examples: tuple[str, ...] = ()
    """Some of the lost ones: row, family and qualifier."""


def require_older_versions(sink: HBaseSink, facts: TableFacts) -> None:
    """Refuse a table in which nothing older than the newest values can be."""
    if sink.guard == "cas":
        raise PreflightError(
            f"Table {sink.table!r} cannot be rolled back: it is guarded by cas",
            why="its cells carry HBase's own time, which does not say of which record they are",
            fix=REPLAY,
        )
    if sink.version not in ("offset", "checkpoint"):
        raise PreflightError(
            f"Table {sink.table!r} cannot be rolled back: its versions are no offsets and no checkpoint ids",
            why="a time or a column does not say whether its record is before the boundary or after it",
            fix=REPLAY,
        )
    single = sorted(family for family in sink.columns if facts.families[family].versions < 2)
    if single:
        raise PreflightError(
            f"Table {sink.table!r} cannot be rolled back: family {', '.join(map(repr, single))} keeps 1 version",
            why="what a later record has overwritten is gone",
            fix=f"{REPLAY}. For the next time: alter '{sink.table}', NAME => '{single[0]}', VERSIONS => 3",
        )


def told(sink: HBaseSink, facts: TableFacts, rewind: Rewind, *, apply: bool) -> dict[str, str]:
    """Return the option that makes the sink roll rows back; without `apply` it only looks."""
    families = {
        family: {
            "versions": facts.families[family].versions,
            "keeps-deleted": facts.families[family].keep_deleted_cells == "true",
        }
        for family in sink.columns
    }
    document = {
        "id": uuid.uuid4().hex,
        "generation": rewind.generation,
        "apply": apply,
        "limit": rewind.limit,
        "limits": {t: {str(p): limit for p, limit in parts.items()} for t, parts in rewind.limits.items()},
        "families": families,
    }
    return {OPTION: json.dumps(document)}


def gathered(spark: SparkSession, option: Mapping[str, str], run: Callable[[], None]) -> Rewound:
    """Run a query with the option, and return what its writers have found."""
    plan_id = json.loads(option[OPTION])["id"]
    reports = jvm(spark).io.milepost.hbase.rollback.RollbackReports
    try:
        run()
    finally:
        batches = [str(batch) for batch in reports.take(plan_id)]
    return summed(batches)


def summed(batches: list[str]) -> Rewound:
    """Add up the acknowledgements of all writers, given as JSON arrays."""
    acks = [ack for batch in batches for ack in json.loads(batch)]
    counts = {
        name: sum(ack[name] for ack in acks) for name in ("rows", "same", "restored", "removed", "lost")
    }
    examples = [example for ack in acks for example in ack["examples"]]
    return Rewound(**counts, examples=tuple(examples[:_EXAMPLES]))


def rewind_newer(spark: SparkSession, sink: HBaseSink, limit: int, option: Mapping[str, str]) -> None:
    """Roll back every row that has a cell or marker from a version on."""
    options = connection_options(sink)
    columns = json.dumps({family: dict(names) for family, names in sink.columns.items()})
    cells = spark.read.format("milepost-hbase").options(**options, raw="true", columns=columns).load()
    rows = cells.filter(f"version >= {limit}").select("row").distinct()
    rows.write.format("milepost-hbase").options(**options, **option).mode("append").save()
