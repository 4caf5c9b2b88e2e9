"""A client that says nothing is not waited for."""

from __future__ import annotations

import socket

import pytest
from tests.unit.rest.asgi import JOB

from milepost.rest.client import Client
from milepost.rest.server import header_timeout
from milepost.rest.server.server import Address


def test_a_silent_client_is_not_waited_for(address: Address, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(header_timeout, "HEADER_TIMEOUT", 0.2)
    port = int(address.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as slow:
        slow.sendall(b"GET /jobs HTTP/1.1\r\nHost: local")
        # The answer is the end of the connection; meanwhile others are view.
        assert Client(address=address.url, token=address.token).job_id() == JOB
        assert slow.recv(100) == b""
