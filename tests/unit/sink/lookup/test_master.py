"""Calls to the HBase master and their answers; tests/system/test_early.py uses a real one."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from milepost.sink.lookup.master import Master, RefusedCallError, parse_address
from milepost.sink.lookup.protobuf import delimited, field
from milepost.sink.lookup.wire import Deadline, Wire

NOT_FOUND = b"org.apache.hadoop.hbase.TableNotFoundException"


@pytest.fixture
def ends() -> Iterator[tuple[Master, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Master(Wire(ours, Deadline.after(10))), theirs


def answer(server: socket.socket, body: bytes) -> None:
    message = delimited(field(1, 1)) + delimited(body)
    server.sendall(len(message).to_bytes(4, "big") + message)


def refuse(server: socket.socket, exception: bytes) -> None:
    message = delimited(field(1, 1) + field(2, field(1, exception) + field(2, b"at ...")))
    server.sendall(len(message).to_bytes(4, "big") + message)


def test_the_header_names_the_user_and_the_service(ends: tuple[Master, socket.socket]) -> None:
    master, server = ends
    master.send_header("ada")
    assert (
        server.recv(100) == b"HBas\0\x50" + b"\0\0\0\x16" + b"\x0a\x05\x0a\x03ada" + b"\x12\x0dMasterService"
    )


def test_a_table_that_has_a_state_exists(ends: tuple[Master, socket.socket]) -> None:
    master, server = ends
    answer(server, field(1, field(1, 0)))
    assert master.has_table("ns", "t")
    call = delimited(b"\x08\x01" + b"\x1a\x0dGetTableState" + b"\x20\x01") + delimited(
        field(1, b"\x0a\x02ns" + b"\x12\x01t")
    )
    assert server.recv(200) == len(call).to_bytes(4, "big") + call


def test_a_table_without_a_state_does_not_exist(ends: tuple[Master, socket.socket]) -> None:
    master, server = ends
    refuse(server, NOT_FOUND)
    assert not master.has_table("default", "t")


@pytest.mark.parametrize(
    "exception", [b"org.apache.hadoop.hbase.security.AccessDeniedException", b"org.apache.hadoop.hbase.ipc.X"]
)
def test_every_other_exception_is_not_an_answer(ends: tuple[Master, socket.socket], exception: bytes) -> None:
    master, server = ends
    refuse(server, exception)
    with pytest.raises(RefusedCallError, match=exception.decode()):
        master.has_table("default", "t")


def test_names_of_tables_and_namespaces(ends: tuple[Master, socket.socket]) -> None:
    master, server = ends
    tables = [field(1, b"default") + field(2, b"orders"), field(1, b"ns") + field(2, b"t")]
    answer(server, b"".join(field(1, table) for table in tables))
    assert master.tables() == ["orders", "ns:t"]
    answer(server, field(1, b"default") + field(1, b"ns"))
    assert master.namespaces() == ["default", "ns"]


def test_the_address_in_the_masters_node() -> None:
    server = field(1, b"host") + field(2, 16000) + field(3, 1_700_000_000_000)
    node = b"\xff\0\0\0\x14master:16000" + bytes(8) + b"PBUF" + field(1, server) + field(2, 0)
    assert parse_address(node) == ("host", 16000)


@pytest.mark.parametrize("node", [b"", b"host:16000", b"PBUF", b"PBUF" + field(1, field(1, b"host"))])
def test_a_node_with_other_data(node: bytes) -> None:
    with pytest.raises(ValueError, match=r"master's node|field 1 is missing"):
        parse_address(node)
