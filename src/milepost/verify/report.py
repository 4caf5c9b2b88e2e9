"""The result of a verification: counts, examples, and the result line for scripts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from milepost.errors import VerificationError

EXAMPLES = 10


class Kind(Enum):
    """What is wrong with a cell."""

    MISSING = "the log has a value, but none is visible"
    EXTRA = "a value is visible that no record ever wrote"
    RESURRECTED = "a value is visible that the log has deleted"
    STALE = "the visible version is older than the newest record"
    WRONG_VALUE = "the value differs from the record with this version"
    ALIEN_VERSION = "no record explains this version: it is a server time, or a record was applied twice"


# The line has four counters; every kind is counted in exactly one of them.
_COUNTERS: dict[str, tuple[Kind, ...]] = {
    "missing": (Kind.MISSING,),
    "extra": (Kind.EXTRA, Kind.RESURRECTED),
    "stale": (Kind.STALE, Kind.WRONG_VALUE),
    "duplicates": (Kind.ALIEN_VERSION,),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference in one row and column."""

    kind: Kind
    row: bytes
    family: str
    qualifier: bytes
    expected: str
    actual: str

    def __str__(self) -> str:
        """Return the position, the expected value and the actual value."""
        column = f"{self.family}:{self.qualifier.decode(errors='backslashreplace')}"
        return f"{self.kind.name} row {repr(self.row)[1:]} {column}: log {self.expected}; table {self.actual}"


@dataclass(slots=True)
class Report:
    """The result of a verification."""

    records: int
    rows: int = 0
    cells: int = 0
    foreign: int = 0
    """Cells in families that are not in the mapping."""
    beyond: int = 0
    """Cells that only deleted records could explain; neither proved nor refuted."""
    boundary: str = "the end of the log"
    """The boundary of the comparison, for messages."""
    checkpoint: int | None = None
    """The checkpoint up to which the table is compared; None for another boundary."""
    not_yet_read: int = 0
    """Records of the log after the boundary."""
    ahead: int = 0
    """Rows that such records have already changed; each was compared with these records."""
    counts: Counter[Kind] = field(default_factory=Counter)
    examples: dict[Kind, list[Finding]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep the first ones of each kind as examples."""
        self.counts[finding.kind] += 1
        examples = self.examples.setdefault(finding.kind, [])
        if len(examples) < EXAMPLES:
            examples.append(finding)

    @property
    def is_verified(self) -> bool:
        """Whether the table equals the log."""
        return not self.counts

    @property
    def line(self) -> str:
        """The result line for scripts."""
        counters = " ".join(f"{name}={self.total(name)}" for name in _COUNTERS)
        return f"{'VERIFIED' if self.is_verified else 'DIFFERENCES'} records={self.records} {counters}"

    def total(self, counter: str) -> int:
        """Return one counter of the line: missing, extra, stale or duplicates."""
        return sum(self.counts[kind] for kind in _COUNTERS[counter])

    def lines(self) -> list[str]:
        """Return notes, findings with their examples, and the result line last."""
        lines = [*self.notes, *self._progress()]
        for kind in Kind:
            if self.counts[kind]:
                lines.append(f"{kind.name} {self.counts[kind]}: {kind.value}")
                lines.extend(f"  {finding}" for finding in self.examples[kind])
                if self.counts[kind] > EXAMPLES:
                    lines.append(f"  … and {self.counts[kind] - EXAMPLES} more")
        return [*lines, self.line]

    def _progress(self) -> list[str]:
        """Return the progress beyond the boundary, if there is any."""
        lines = []
        if self.not_yet_read:
            lines.append(f"not yet read: {self.not_yet_read:,} (records after {self.boundary})")
        if self.ahead:
            lines.append(
                f"written ahead of {self.boundary}: {self.ahead:,} rows, all consistent with the log"
            )
        return lines

    def document(self) -> dict[str, Any]:
        """Return the result as JSON: the counters, and every kind of finding with examples."""
        return {
            "verified": self.is_verified,
            "records": self.records,
            **{counter: self.total(counter) for counter in _COUNTERS},
            "rows": self.rows,
            "cells": self.cells,
            "checkpoint": self.checkpoint,
            "not-yet-read": self.not_yet_read,
            "ahead": self.ahead,
            "differences": {
                kind.name: {"count": count, "examples": [str(each) for each in self.examples[kind]]}
                for kind, count in sorted(self.counts.items(), key=lambda pair: pair[0].name)
            },
            "notes": list(self.notes),
        }

    def error(self) -> VerificationError:
        """Return the differences as an error."""
        first = next((examples[0] for examples in self.examples.values()), None)
        return VerificationError(
            f"The table differs from the log: {self.line}",
            why=f"for example {first}" if first else "",
            fix="Look for another writer or a manual change (`milepost lineage` shows the origin of a row);"
            " if there is none, keep the table and the log, and report a bug",
        )
