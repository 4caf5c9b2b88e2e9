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
from milepost.checkpoint.store.layout import OURS, TOPICS
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import PreflightError


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "orders")


def test_ids_come_back(store: LocalStore):
    record(store, {"b": "2", "a": "1"})
    record(store, {"a": "1", "c": "3"})
    assert recorded(store) == {"a": "1", "c": "3"}
    assert [path.name for path in store.path(OURS).iterdir()] == ["topics.json"]


def test_a_directory_of_plain_spark_has_none(store: LocalStore):
    assert recorded(store) == {}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 99, "topics": {}}', '{"format": 1}', '{"format": 1, "topics": 3}']
)
def test_a_damaged_file_is_named(store: LocalStore, text: str):
    record(store, {})
    store.path(TOPICS).write_text(text)
    with pytest.raises(PreflightError, match=r"topics.json is damaged"):
        recorded(store)


def test_the_job_comes_back(store: LocalStore):
    assert recorded_job(store) is None
    record_job(store, JobIdentity(name="orders", job_id="a"))
    record_job(store, JobIdentity(name="orders", job_id="b"))
    assert recorded_job(store) == JobIdentity(name="orders", job_id="b")


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "name": "orders"}'])
def test_a_damaged_job_file_is_named(store: LocalStore, text: str):
    record_job(store, JobIdentity(name="orders", job_id="a"))
    (store.path(OURS) / "job.json").write_text(text)
    with pytest.raises(PreflightError, match=r"job.json is damaged"):
        recorded_job(store)


def test_it_is_remembered_on_every_file_system(store: Store):
    record(store, {"a": "1"})
    record_job(store, JobIdentity(name="orders", job_id="a"))
    assert recorded(store) == {"a": "1"}
    assert recorded_job(store) == JobIdentity(name="orders", job_id="a")
