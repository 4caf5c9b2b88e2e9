"""The effects of the records after the boundary: a running job may have written any part of them."""

from __future__ import annotations

from collections.abc import Collection

from milepost.verify.history import Effect, RowHistory
from milepost.verify.oracle import Mapping, Oracle, Record


class Ahead:
    """Folds the records after the boundary, for the rows that differ only."""

    def __init__(self, mapping: Mapping, rows: Collection[bytes]) -> None:
        """Collect the effects on these rows."""
        self._oracle = Oracle(mapping)
        self._wanted = rows
        self.records = 0
        self.rows: dict[bytes, RowHistory] = {}

    def apply(self, record: Record) -> None:
        """Take one record into account.

        Unlike before the boundary, a row may be in two partitions: partition growth that the job has not seen
        yet is ordered when the job reads it.
        """
        self.records += 1
        if not self._wanted:
            return
        for outcome in self._oracle.outcomes(record):
            if isinstance(outcome, Effect) and outcome.row in self._wanted:
                history = self.rows.get(outcome.row)
                if history is None:
                    history = self.rows[outcome.row] = RowHistory((record.topic, record.partition))
                history.add(outcome, self._oracle.first_try(record))
