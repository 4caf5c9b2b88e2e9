"""Hundreds who say nothing do not keep out the one who does."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest
from tests.unit.rest.asgi import JOB

from milepost.rest import door as door_module
from milepost.rest import patience
from milepost.rest.client import Client
from milepost.rest.door import Door
from milepost.rest.server import Address


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(door_module, "PLACES", 3)
    with Door(socket.AF_INET, socket.SOCK_STREAM) as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        yield door


def come_in(door: Door, stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    outside = stack.enter_context(socket.create_connection(door.getsockname(), timeout=5))
    inside = stack.enter_context(door.accept()[0])
    return outside, inside


def is_shown_out(outside: socket.socket) -> bool:
    outside.settimeout(0.05)
    try:
        return outside.recv(1) == b""
    except TimeoutError:
        return False


def test_the_one_who_said_nothing_longest_makes_room(door: Door):
    with ExitStack() as stack:
        came = [come_in(door, stack) for _ in range(3)]
        door.heard(came[0][1].fileno())
        came += [come_in(door, stack)]
        assert [is_shown_out(outside) for outside, _ in came] == [False, True, False, False]


def test_who_has_gone_takes_no_place(door: Door):
    with ExitStack() as stack:
        came = [come_in(door, stack) for _ in range(3)]
        came[2][1].close()
        came += [come_in(door, stack)]
        assert not is_shown_out(came[0][0])
        assert not is_shown_out(came[1][0])


def test_where_all_were_heard_the_first_of_them_goes(door: Door):
    with ExitStack() as stack:
        came = [come_in(door, stack) for _ in range(3)]
        for _, inside in came:
            door.heard(inside.fileno())
        came += [come_in(door, stack)]
        assert [is_shown_out(outside) for outside, _ in came] == [True, False, False, False]


@pytest.mark.parametrize("sent", [b"", b"GET /jobs HTTP/1.1\r\nHost: loc"])
def test_a_slow_loris_keeps_nobody_out(sent: bytes, address: Address, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(patience, "HEADER_TIMEOUT", 600)
    port = int(address.url.rpartition(":")[2])
    with ExitStack() as stack:
        for _ in range(400):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            slow.sendall(sent)
        # Those who are kept out would wait until the others have lost their patience, or be refused.
        for _ in range(5):
            assert Client(address=address.url, token=address.token).job_id() == JOB
