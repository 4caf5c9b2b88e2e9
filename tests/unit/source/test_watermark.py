"""What of a watermark needs no Spark; the strategies themselves are in tests/spark and tests/system."""

from __future__ import annotations

from typing import Any, cast

import pytest

from milepost.config import Watermark
from milepost.errors import PreflightError
from milepost.source import watermark


class Rows:
    """Rows of which only the names of the columns are known."""

    columns = ("id", "at")


def apply(strategy: Watermark) -> Any:
    return watermark.apply(cast(Any, Rows()), strategy, origin="_kafka", partitions={}, clock="j/source")


def test_without_a_watermark_the_rows_stay_as_they_are():
    rows = cast(Any, Rows())
    assert watermark.apply(rows, Watermark(), origin="_kafka", partitions={}, clock="j/source") is rows


@pytest.mark.parametrize("strategy", ["periodic", "per-partition"])
def test_a_column_that_is_not_there_is_refused(strategy: str):
    with pytest.raises(PreflightError, match="'nope', which the records do not have") as caught:
        apply(Watermark(strategy=strategy, column="nope", delay="5s"))
    assert (caught.value.exit_code, caught.value.why) == (2, "they have id, at")
