from __future__ import annotations

from pathlib import Path

import pytest

from milepost.checkpoint.identity import record, recorded
from milepost.checkpoint.layout import Layout
from milepost.errors import PreflightError


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "orders")


def test_ids_come_back(layout: Layout):
    record(layout, {"b": "2", "a": "1"})
    record(layout, {"a": "1", "c": "3"})
    assert recorded(layout) == {"a": "1", "c": "3"}
    assert [path.name for path in layout.ours.iterdir()] == ["topics.json"]


def test_a_directory_of_plain_spark_has_none(layout: Layout):
    assert recorded(layout) == {}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 99, "topics": {}}', '{"format": 1}', '{"format": 1, "topics": 3}']
)
def test_a_damaged_file_is_named(layout: Layout, text: str):
    record(layout, {})
    layout.topics.write_text(text)
    with pytest.raises(PreflightError, match=r"topics.json is damaged"):
        recorded(layout)
