"""A checkpoint directory as Spark leaves it, and the two kinds of store."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from tests.unit.checkpoint.recorder import join_chains
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.store.store import LocalStore, Store


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "local":
        yield LocalStore(tmp_path / "orders")
        return
    root = f"/{uuid.uuid4().hex}"
    yield Store.at(f"memory:/{root}/orders")
    files = fsspec.filesystem("memory")
    if files.exists(root):
        files.rm(root, recursive=True)


@pytest.fixture
def spark(tmp_path: Path) -> SparkDirectory:
    return SparkDirectory(tmp_path / "orders")


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What a held participant waits for; it is let go at the end, and its chain has ended."""
    event = threading.Event()
    yield event
    event.set()
    join_chains()
