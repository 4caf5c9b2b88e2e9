"""The size of an operator's state, with one meaning for every state backend. Pure.

It is the size of the rows that the state holds, before compression. Spark's `memoryUsedBytes` is another number: for
RocksDB it counts caches and write buffers, which grow by a MiB per partition and are dropped at every snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from milepost.checkpoint.model import Acknowledgement, CompletedCheckpoint, Kind, kind_of
from milepost.checkpoint.stats.engine_report import SealReport

_ON_HEAP = "stateOnCurrentVersionSizeBytes"
_WRITTEN, _PUTS = "rocksdbTotalBytesWritten", "rocksdbPutCount"
_REPLAYED, _FILES = "rocksdbNumReplayChangelogFiles", "rocksdbSstFileSize"
_SAMPLED = "sampled"
_MOST = 1_000_000
"""Rows of a sample: beyond it the older half counts half, so that the average follows what is written now."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows that were written to a state store, and their bytes."""

    rows: int = 0
    size: int = 0

    def add(self, rows: int, size: int) -> Sample:
        """Return the sample with further rows."""
        share = 2 if self.rows > _MOST else 1
        return Sample(self.rows // share + rows, self.size // share + size)

    def size_of(self, rows: int) -> int:
        """Return the size of that many rows of average size."""
        return round(rows * self.size / self.rows)


def with_state_sizes(report: SealReport, before: CompletedCheckpoint | None) -> SealReport:
    """Return the report with the size of each operator's state; averages continue those of the checkpoint before."""
    known = {ack.participant: ack for ack in before.acknowledgements} if before else {}
    acks = (
        _sized(ack, known.get(ack.participant)) if kind_of(ack.participant) is Kind.STATE else ack
        for ack in report.acknowledgements
    )
    return replace(report, acknowledgements=tuple(acks))


def _sized(ack: Acknowledgement, before: Acknowledgement | None) -> Acknowledgement:
    custom: Mapping[str, Any] = ack.details.get("custom", {})
    details = {**ack.details, "memory-bytes": ack.bytes}
    if _ON_HEAP in custom:
        return replace(ack, bytes=custom[_ON_HEAP], details=details)
    if _WRITTEN not in custom:
        return ack
    sample = _sample(ack, custom, _sample_of(before))
    # Without a row written since this was first measured: the files of the last snapshot.
    size = sample.size_of(ack.rows) if sample.rows else custom.get(_FILES, 0)
    details[_SAMPLED] = {"rows": sample.rows, "bytes": sample.size}
    return replace(ack, bytes=size, details=details)


def _sample(ack: Acknowledgement, custom: Mapping[str, Any], before: Sample) -> Sample:
    updated, removed = ack.details.get("rows-updated", 0), ack.details.get("rows-removed", 0)
    if updated and not custom.get(_REPLAYED, 0):
        return before.add(updated + removed, custom[_WRITTEN])
    if before.rows:
        return before
    # Right after a restore the store has written its changelog again, which is not in the count of updated rows.
    return Sample(custom.get(_PUTS, 0), custom[_WRITTEN])


def _sample_of(ack: Acknowledgement | None) -> Sample:
    told = ack.details.get(_SAMPLED, {}) if ack else {}
    return Sample(told.get("rows", 0), told.get("bytes", 0))
