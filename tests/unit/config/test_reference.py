"""The reference page says what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from milepost.config import Config
from milepost.config.reference import render

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "config.md"


def test_committed_page_is_the_rendering():
    assert PAGE.read_text(encoding="utf-8") == render(), "run `make docs`"


@pytest.mark.parametrize(
    "row",
    [
        "| `checkpointing.interval` | duration | `10s` |",
        "| `sink.hbase.flush.bytes` | size | `8mb` |",
        "| `source.kafka.start-fallback` | `earliest`, `latest`, `none` | `earliest` |",
        "| `sink.hbase.version` | `offset`, `checkpoint`, `timestamp`, `server-time`, `{column: column}` | `offset`",
        "| `checkpointing.savepoint-dir` | path or URI |",
        "| `restart.strategy` | `none`, `fixed-delay`, `failure-rate`, `exponential-delay` | `exponential-delay` |",
    ],
)
def test_row(row: str):
    assert row in render()


def test_every_field_is_described():
    assert all(field.description for field in Config.model_fields.values())
    assert "|  |" not in render()
