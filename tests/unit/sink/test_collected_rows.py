from __future__ import annotations

import pickle

from pyspark.sql import Row

from milepost.sink.collected_rows import CollectedRows, _pages


class Engine:
    """The rows as Java hands them over: pickled pages."""

    def __init__(self, *pages: list[Row]) -> None:
        self._pages = [pickle.dumps(page) for page in pages]

    def pages(self) -> int:
        return len(self._pages)

    def page(self, number: int) -> bytes:
        return self._pages[number]


def test_pages_are_read_one_at_a_time():
    rows = CollectedRows(3, _pages(Engine([Row(n=1), Row(n=2)], [Row(n=3)])))
    assert [[row.n for row in page] for page in rows.pages] == [[1, 2], [3]]
