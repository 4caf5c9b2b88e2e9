"""Which running job a JOB argument means, and with which token."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.rest.asgi import JOB, Server

from milepost.cli.argument import running_job
from milepost.cli.argument.running_job import JobConnection, connect, show_acknowledgements
from milepost.cli.output.progress import Bar
from milepost.config import Rest
from milepost.errors import ConfigError, NotReachableError
from milepost.job import registry
from milepost.rest.client import Client
from milepost.rest.server.server import Address, Listener, serve_job


@pytest.fixture(autouse=True)
def own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(running_job.TOKEN, raising=False)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[Address]:
    server = Server(tmp_path / "job")
    with (
        Listener.open(Rest(bind="127.0.0.1:0")) as listener,
        serve_job(listener, server.job, server.config) as address,
    ):
        yield address


def test_a_name_an_id_or_an_address(address: Address):
    for job in ("orders", JOB, address.url, address.link):
        connection = connect(job)
        assert (connection.job_id, connection.client.address) == (JOB, address.url)
        assert connection.client.get(f"{connection.path}/status") == {"status": "RUNNING"}


def test_an_unknown_one_names_those_that_run(address: Address):
    with pytest.raises(NotReachableError, match="name or id 'other'") as unknown:
        connect("other")
    assert unknown.value.why == "the running jobs are: orders"


def test_none_runs():
    with pytest.raises(NotReachableError) as unknown:
        connect("other")
    assert unknown.value.why == "no job is running"


def test_the_token_of_an_address_is_given(address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (entry,) = registry.entries()
    elsewhere = address.url.replace("127.0.0.1", "localhost")
    with pytest.raises(ConfigError, match="No token is known"):
        connect(elsewhere)
    assert connect(elsewhere, Path(entry.token_file)).job_id == JOB
    monkeypatch.setenv(running_job.TOKEN, address.token)
    assert connect(elsewhere).job_id == JOB
    with pytest.raises(ConfigError, match="cannot be read"):
        connect(elsewhere, tmp_path / "none")


def test_a_person_sees_the_acknowledgements_of_what_lasts(address: Address, monkeypatch: pytest.MonkeyPatch):
    seen: list[tuple[int, int, str]] = []

    class Watched(Bar):
        is_visible = True

        def update(self, done: int, total: int, unit: str = "") -> None:
            seen.append((done, total, unit))

    pending = {"pending": {"acknowledged": ["a"], "missing": ["b", "c"]}}
    connection = connect("orders")
    monkeypatch.setattr(type(connection.client), "get", lambda *_: pending)
    show_acknowledgements(connection, Watched())
    assert seen == [(1, 3, "acknowledged")]


def test_for_nobody_nothing_is_asked(monkeypatch: pytest.MonkeyPatch):
    client = Client(address="http://127.0.0.1:1", token="t")
    show_acknowledgements(JobConnection(client, JOB), Bar())
