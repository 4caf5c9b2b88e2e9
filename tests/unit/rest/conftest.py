"""A server around a job that does as it is told, called itself or on a real port."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.rest.asgi import Server

from milepost.config import Rest
from milepost.rest.server.server import Address, Listener, serve_job


@pytest.fixture
def server(tmp_path: Path) -> Server:
    (tmp_path / "job").mkdir()
    (tmp_path / "savepoints").mkdir()
    return Server(tmp_path / "job", savepoint_dir=str(tmp_path / "savepoints"))


@pytest.fixture(autouse=True)
def own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def address(server: Server) -> Iterator[Address]:
    with (
        Listener.open(Rest(bind="127.0.0.1:0")) as listener,
        serve_job(listener, server.job, server.config) as address,
    ):
        yield address
