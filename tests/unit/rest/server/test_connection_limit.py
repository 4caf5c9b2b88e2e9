"""Hundreds of idle connections do not lock out a client with a request."""

from __future__ import annotations

import http.client
import socket
import time
from contextlib import ExitStack, closing

import pytest
from tests.unit.rest.asgi import JOB, Clock

from milepost.rest.client import Client
from milepost.rest.server import auth, header_timeout
from milepost.rest.server import connection_limit as module
from milepost.rest.server.connection_limit import GRACE_ROUNDS, GRACE_S, LimitedSocket
from milepost.rest.server.server import Address


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def listener(clock: Clock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 3)
    with LimitedSocket(socket.AF_INET, clock) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener


def connect(listener: LimitedSocket, stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    client = stack.enter_context(socket.create_connection(listener.getsockname(), timeout=5))
    accepted = stack.enter_context(listener.accept()[0])
    return client, accepted


def is_closed(client: socket.socket) -> bool:
    client.settimeout(0.05)
    try:
        return client.recv(1) == b""
    except TimeoutError:
        return False


def end_grace(listener: LimitedSocket, clock: Clock) -> None:
    """Let the grace period of all connections end."""
    for _ in range(GRACE_ROUNDS):
        listener.begin_round()
    clock.now += GRACE_S


def test_the_longest_idle_connection_is_closed_for_a_new_one(listener: LimitedSocket, clock: Clock):
    with ExitStack() as stack:
        opened = [connect(listener, stack) for _ in range(3)]
        listener.mark_requesting(opened[0][1].fileno())
        end_grace(listener, clock)
        opened += [connect(listener, stack)]
        assert [is_closed(client) for client, _ in opened] == [False, True, False, False]


def test_a_closed_connection_does_not_count(listener: LimitedSocket, clock: Clock):
    with ExitStack() as stack:
        opened = [connect(listener, stack) for _ in range(3)]
        end_grace(listener, clock)
        opened[2][1].close()
        opened += [connect(listener, stack)]
        assert not is_closed(opened[0][0])
        assert not is_closed(opened[1][0])


def test_without_idle_connections_the_first_answered_one_is_closed(listener: LimitedSocket):
    with ExitStack() as stack:
        opened = [connect(listener, stack) for _ in range(3)]
        for _, accepted in opened:
            listener.mark_requesting(accepted.fileno())
        for _, accepted in (opened[1], opened[0]):
            listener.mark_answered(accepted.fileno())
        opened += [connect(listener, stack)]
        assert [is_closed(client) for client, _ in opened] == [False, True, False, False]


def test_a_connection_with_a_request_stays_until_it_is_answered(listener: LimitedSocket, clock: Clock):
    with ExitStack() as stack:
        opened = [connect(listener, stack) for _ in range(3)]
        for _, accepted in opened:
            listener.mark_requesting(accepted.fileno())
        end_grace(listener, clock)
        with pytest.raises(BlockingIOError):
            connect(listener, stack)
        assert [is_closed(client) for client, _ in opened] == [False, False, False]
        listener.mark_answered(opened[2][1].fileno())
        stack.enter_context(listener.accept()[0])  # the one in the backlog
        assert is_closed(opened[2][0])


@pytest.mark.parametrize("lacks", ["rounds", "time"])
def test_no_connection_is_closed_before_it_could_be_read(lacks: str, listener: LimitedSocket, clock: Clock):
    with ExitStack() as stack:
        opened = [connect(listener, stack) for _ in range(3)]
        if lacks == "rounds":
            clock.now += 60
        else:
            for _ in range(100):
                listener.begin_round()
        with pytest.raises(BlockingIOError):
            connect(listener, stack)
        assert [is_closed(client) for client, _ in opened] == [False, False, False]


def test_no_connection_is_closed_without_a_backlog(listener: LimitedSocket, clock: Clock):
    with ExitStack() as stack:
        opened = [connect(listener, stack) for _ in range(3)]
        end_grace(listener, clock)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
        assert [is_closed(client) for client, _ in opened] == [False, False, False]


def test_a_new_connection_waits_while_the_server_is_busy(listener: LimitedSocket):
    listener.is_busy = lambda: True
    with ExitStack() as stack:
        with pytest.raises(BlockingIOError):
            connect(listener, stack)
        listener.is_busy = lambda: False
        stack.enter_context(listener.accept()[0])


def test_the_loop_pauses_at_the_limit(listener: LimitedSocket):
    assert listener.begin_round() == 0
    listener.is_busy = lambda: True
    with ExitStack() as stack, pytest.raises(BlockingIOError):
        connect(listener, stack)
    assert listener.begin_round() > 0
    assert listener.begin_round() == 0


HALF_A_HEADER = b"GET /jobs HTTP/1.1\r\nHost: loc"
NO_BODY_YET = b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", HALF_A_HEADER, NO_BODY_YET])
def test_a_slow_loris_does_not_lock_out_others(
    sent: bytes, address: Address, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(header_timeout, "HEADER_TIMEOUT", 600)
    monkeypatch.setattr(auth, "DRAIN_TIMEOUT", 600)
    port = int(address.url.rpartition(":")[2])
    with ExitStack() as stack:
        for _ in range(400):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            slow.sendall(sent)
        # A client that is locked out would wait until the slow connections time out, or be refused.
        for _ in range(5):
            assert Client(address=address.url, token=address.token).job_id() == JOB


@pytest.mark.parametrize("sent", [b"", HALF_A_HEADER, NO_BODY_YET])
def test_every_request_is_answered_while_connections_pile_up(sent: bytes, address: Address):
    """A server that closes connections before they are read answers no request."""
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
