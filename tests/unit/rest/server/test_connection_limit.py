"""Hundreds who say nothing do not keep out the one who does."""

from __future__ import annotations

import http.client
import socket
import time
from contextlib import ExitStack, closing

import pytest
from tests.unit.rest.asgi import JOB, Clock

from milepost.rest.client import Client
from milepost.rest.server import auth, header_timeout
from milepost.rest.server import connection_limit as door_module
from milepost.rest.server.connection_limit import CHANCE_ROUNDS, CHANCE_S, Door
from milepost.rest.server.server import Address


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def door(clock: Clock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(door_module, "PLACES", 3)
    with Door(socket.AF_INET, clock) as door:
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


def pass_by(door: Door, clock: Clock) -> None:
    """Give all who are there their chance to say something."""
    for _ in range(CHANCE_ROUNDS):
        door.begin_round()
    clock.now += CHANCE_S


def test_the_one_who_said_nothing_longest_makes_room(door: Door, clock: Clock):
    with ExitStack() as stack:
        came = [come_in(door, stack) for _ in range(3)]
        door.heard(came[0][1].fileno())
        pass_by(door, clock)
        came += [come_in(door, stack)]
        assert [is_shown_out(outside) for outside, _ in came] == [False, True, False, False]


def test_who_has_gone_takes_no_place(door: Door, clock: Clock):
    with ExitStack() as stack:
        came = [come_in(door, stack) for _ in range(3)]
        pass_by(door, clock)
        came[2][1].close()
        came += [come_in(door, stack)]
        assert not is_shown_out(came[0][0])
        assert not is_shown_out(came[1][0])


def test_where_nobody_is_silent_the_first_one_answered_goes(door: Door):
    with ExitStack() as stack:
        came = [come_in(door, stack) for _ in range(3)]
        for _, inside in came:
            door.heard(inside.fileno())
        for _, inside in (came[1], came[0]):
            door.answered(inside.fileno())
        came += [come_in(door, stack)]
        assert [is_shown_out(outside) for outside, _ in came] == [False, True, False, False]


def test_who_has_asked_stays_until_it_is_answered(door: Door, clock: Clock):
    with ExitStack() as stack:
        came = [come_in(door, stack) for _ in range(3)]
        for _, inside in came:
            door.heard(inside.fileno())
        pass_by(door, clock)
        with pytest.raises(BlockingIOError):
            come_in(door, stack)
        assert [is_shown_out(outside) for outside, _ in came] == [False, False, False]
        door.answered(came[2][1].fileno())
        stack.enter_context(door.accept()[0])  # the one who waits outside
        assert is_shown_out(came[2][0])


@pytest.mark.parametrize("lacks", ["rounds", "time"])
def test_nobody_goes_before_what_it_sent_could_be_read(lacks: str, door: Door, clock: Clock):
    with ExitStack() as stack:
        came = [come_in(door, stack) for _ in range(3)]
        if lacks == "rounds":
            clock.now += 60
        else:
            for _ in range(100):
                door.begin_round()
        with pytest.raises(BlockingIOError):
            come_in(door, stack)
        assert [is_shown_out(outside) for outside, _ in came] == [False, False, False]


def test_nobody_goes_where_nobody_waits(door: Door, clock: Clock):
    with ExitStack() as stack:
        came = [come_in(door, stack) for _ in range(3)]
        pass_by(door, clock)
        door.setblocking(False)
        with pytest.raises(BlockingIOError):
            door.accept()
        assert [is_shown_out(outside) for outside, _ in came] == [False, False, False]


def test_who_comes_while_too_much_is_worked_on_waits_outside(door: Door):
    door.is_busy = lambda: True
    with ExitStack() as stack:
        with pytest.raises(BlockingIOError):
            come_in(door, stack)
        door.is_busy = lambda: False
        stack.enter_context(door.accept()[0])


def test_the_loop_waits_a_moment_where_all_places_are_taken(door: Door):
    assert door.begin_round() == 0
    door.is_busy = lambda: True
    with ExitStack() as stack, pytest.raises(BlockingIOError):
        come_in(door, stack)
    assert door.begin_round() > 0
    assert door.begin_round() == 0


HALF_A_HEADER = b"GET /jobs HTTP/1.1\r\nHost: loc"
NO_BODY_YET = b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", HALF_A_HEADER, NO_BODY_YET])
def test_a_slow_loris_keeps_nobody_out(sent: bytes, address: Address, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(header_timeout, "HEADER_TIMEOUT", 600)
    monkeypatch.setattr(auth, "DRAIN_TIMEOUT", 600)
    port = int(address.url.rpartition(":")[2])
    with ExitStack() as stack:
        for _ in range(400):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            slow.sendall(sent)
        # Those who are kept out would wait until the others have lost their patience, or be refused.
        for _ in range(5):
            assert Client(address=address.url, token=address.token).job_id() == JOB


@pytest.mark.parametrize("sent", [b"", HALF_A_HEADER, NO_BODY_YET])
def test_who_opens_ever_more_connections_is_answered(sent: bytes, address: Address):
    """A door that shows them out before they are read answers nobody."""
    port = int(address.url.rpartition(":")[2])
    request = (
        f"GET /jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {address.token}\r\n\r\n".encode()
    )
    with ExitStack() as stack:
        for _ in range(300):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            slow.sendall(sent)
        asking = []
        for _ in range(300):
            asking.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)))
            asking[-1].sendall(request)
        answered = [each.recv(12) for each in asking]
    assert answered.count(b"HTTP/1.1 200") == 300


def test_an_answer_on_an_open_connection_does_not_wait_for_the_network(address: Address):
    """Its headers and its body are two packets: where the second waits for the first, that takes 40 ms each time."""
    port = int(address.url.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    taken = []
    with closing(connection):
        # The other side's system answers the first packets of a connection at once.
        for _ in range(60):
            began = time.monotonic()
            connection.request("GET", "/jobs", headers={"Authorization": f"Bearer {address.token}"})
            assert connection.getresponse().read()
            taken.append(time.monotonic() - began)
    assert min(taken[-20:]) < 0.03
