from __future__ import annotations

from pathlib import Path

import pytest

from milepost.checkpoint.store.identity import (
    JobIdentity,
    record,
    record_job,
    recorded,
    recorded_job,
)
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.store import Store
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


def test_the_job_comes_back(layout: Layout):
    assert recorded_job(layout) is None
    record_job(layout, JobIdentity(name="orders", job_id="a"))
    record_job(layout, JobIdentity(name="orders", job_id="b"))
    assert recorded_job(layout) == JobIdentity(name="orders", job_id="b")


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "name": "orders"}'])
def test_a_damaged_job_file_is_named(layout: Layout, text: str):
    record_job(layout, JobIdentity(name="orders", job_id="a"))
    (layout.ours / "job.json").write_text(text)
    with pytest.raises(PreflightError, match=r"job.json is damaged"):
        recorded_job(layout)


def test_it_is_remembered_on_every_file_system(store: Store):
    record(store, {"a": "1"})
    record_job(store, JobIdentity(name="orders", job_id="a"))
    assert recorded(store) == {"a": "1"}
    assert recorded_job(store) == JobIdentity(name="orders", job_id="a")
