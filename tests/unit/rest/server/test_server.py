"""The server on a real port: served beside the job, refused where the port is taken, patient with nobody."""

from __future__ import annotations

import socket
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.rest.asgi import JOB, Server, taken

from milepost.config import Rest
from milepost.errors import ConfigError, NotReachableError, PreflightError
from milepost.job import registry
from milepost.rest.client import Client
from milepost.rest.server import server as serving_module
from milepost.rest.server.server import Address, Listener, serve_job


def test_a_job_answers_and_is_found(address: Address, server: Server):
    (entry,) = registry.entries()
    assert (entry.name, entry.job_id, entry.address) == ("orders", JOB, address.url)
    assert Path(entry.token_file).read_text() == address.token
    client = Client(address=address.url, token=address.token)
    assert client.job_id() == JOB
    assert client.patch(f"/jobs/{JOB}?mode=cancel") == {}
    assert server.job.asked == ["cancel"]
    assert address.token not in repr(address)


def test_with_the_job_ends_the_server(server: Server):
    with (
        Listener.open(Rest(bind="127.0.0.1:0")) as listener,
        serve_job(listener, server.job, server.config) as address,
    ):
        pass
    assert registry.entries() == []
    with pytest.raises(NotReachableError, match="No job answers"):
        Client(address=address.url, token=address.token).job_id()


def test_each_run_has_a_token_of_its_own(server: Server):
    tokens = set()
    for _ in range(2):
        with (
            Listener.open(Rest(bind="127.0.0.1:0")) as listener,
            serve_job(listener, server.job, server.config) as address,
        ):
            tokens.add(address.token)
    assert len(tokens) == 2
    assert min(map(len, tokens)) >= 43


def test_a_configured_token_is_the_token(server: Server):
    rest = Rest(bind="127.0.0.1:0", token="0123456789abcdef")
    with Listener.open(rest) as listener, serve_job(listener, server.job, server.config) as address:
        assert Client(address=address.url, token="0123456789abcdef").job_id() == JOB
        with pytest.raises(ConfigError, match="does not accept this token"):
            Client(address=address.url, token="0123456789abcdeX").job_id()


def test_a_port_that_is_taken_is_refused():
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        bind = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(PreflightError, match=f"cannot listen at {bind}"), Listener.open(Rest(bind=bind)):
            pass


def test_without_a_section_the_next_free_port_is_taken():
    with Listener.open(None) as first, Listener.open(None) as second:
        ports = [listener.socket.getsockname()[1] for listener in (first, second)]
    # Not in order: other jobs of the machine take and free ports meanwhile.
    assert len(set(ports)) == 2
    assert all(8081 <= port < 8181 for port in ports)


def test_a_key_that_cannot_be_read_is_refused(tmp_path: Path):
    rest = Rest(tls={"certificate": str(tmp_path / "none.crt"), "key": str(tmp_path / "none.key")})
    with pytest.raises(PreflightError, match=r"rest\.tls cannot be used"), Listener.open(rest):
        pass


def test_a_registry_that_others_may_enter_is_refused_before_anything_starts():
    registry.folder().chmod(0o755)
    with pytest.raises(NotReachableError, match="cannot be trusted"), Listener.open(None):
        pass


def test_a_result_is_kept_for_a_moment_after_the_job(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(serving_module, "FETCH_TIMEOUT", 0.2)
    with Listener.open(Rest(bind="127.0.0.1:0")) as listener:
        with serve_job(listener, server.job, server.config) as address:
            Client(address=address.url, token=address.token).post(f"/jobs/{JOB}/stop", {})
            server.job.savepoint.set_result(taken("/s/1"))
            began = time.monotonic()
        assert time.monotonic() - began >= 0.2


def test_headers_without_end_are_refused(address: Address):
    port = int(address.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as greedy:
        greedy.sendall(b"GET /jobs HTTP/1.1\r\nX: " + b"x" * 40_000)
        assert b" 400 " in greedy.recv(200)


def test_many_idle_connections_do_not_keep_the_server(server: Server):
    with Listener.open(Rest(bind="127.0.0.1:0")) as listener:
        with serve_job(listener, server.job, server.config):
            port = listener.socket.getsockname()[1]
            idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
            began = time.monotonic()
        assert time.monotonic() - began < 4
    for each in idle:
        each.close()
