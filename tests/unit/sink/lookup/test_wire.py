"""Messages over a socket; a silent, closed or malformed connection fails within the deadline."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from milepost.sink.lookup.wire import Deadline, Wire, connected


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Wire(ours, Deadline.after(10)), theirs


def test_messages_go_both_ways(ends: tuple[Wire, socket.socket]) -> None:
    wire, server = ends
    wire.send(b"HBas")
    wire.send_message(b"question")
    assert server.recv(100) == b"HBas\0\0\0\x08question"
    server.sendall(b"\0\0\0\x06ans")
    server.sendall(b"wer\0\0\0\0")
    assert wire.receive_message() == b"answer"
    assert wire.receive_message() == b""


def test_a_server_that_closes(ends: tuple[Wire, socket.socket]) -> None:
    wire, server = ends
    server.sendall(b"\0\0\0\x06ans")
    server.close()
    with pytest.raises(ConnectionError):
        wire.receive_message()


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff", b"HTTP"])
def test_a_length_that_no_answer_has(ends: tuple[Wire, socket.socket], length: bytes) -> None:
    wire, server = ends
    server.sendall(length)
    with pytest.raises(ValueError, match="a message of"):
        wire.receive_message()


def test_a_server_that_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        with connected(host, port, Deadline.after(0.05)) as wire, pytest.raises(TimeoutError):
            wire.receive_message()


def test_a_deadline_that_has_passed() -> None:
    with pytest.raises(TimeoutError):
        Deadline.after(-1).remaining()
    assert Deadline.after(10).within(1).remaining() <= 1
    assert Deadline.after(1).within(10).remaining() <= 1
