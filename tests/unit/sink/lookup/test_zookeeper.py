"""One node of ZooKeeper, read over its wire protocol; tests/system/test_early.py reads a real one."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest

from milepost.sink.lookup.wire import Deadline, Wire
from milepost.sink.lookup.zookeeper import read_node

SESSION = bytes(37)
STAT = bytes(68)


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Wire(ours, Deadline.after(10)), theirs


def answers(server: socket.socket, *messages: bytes) -> None:
    for message in messages:
        server.sendall(struct.pack(">i", len(message)) + message)


def test_the_data_of_a_node(ends: tuple[Wire, socket.socket]) -> None:
    wire, server = ends
    answers(server, SESSION, struct.pack(">iqii", 1, 7, 0, 4) + b"data" + STAT)
    assert read_node(wire, "/hbase/master") == b"data"
    session, question, closing = _messages(server.recv(1000))
    assert len(session) == 45
    assert question == struct.pack(">iii", 1, 4, 13) + b"/hbase/master\0"
    assert closing == struct.pack(">ii", 2, -11)


def test_a_node_without_data(ends: tuple[Wire, socket.socket]) -> None:
    wire, server = ends
    answers(server, SESSION, struct.pack(">iqii", 1, 7, 0, -1) + STAT)
    assert read_node(wire, "/hbase/master") == b""


def test_a_node_that_is_missing(ends: tuple[Wire, socket.socket]) -> None:
    wire, server = ends
    answers(server, SESSION, struct.pack(">iqi", 1, 7, -101))
    with pytest.raises(LookupError, match="-101 for /hbase/master"):
        read_node(wire, "/hbase/master")


def _messages(data: bytes) -> list[bytes]:
    found = []
    while data:
        (length,) = struct.unpack_from(">i", data)
        found.append(data[4 : 4 + length])
        data = data[4 + length :]
    return found
