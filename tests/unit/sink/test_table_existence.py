"""The look-up of a missing table without a JVM; tests/system/test_early.py asks a real HBase."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from milepost.config import HBaseSink
from milepost.sink import table_existence
from milepost.sink.lookup.master import RefusedCallError
from milepost.sink.lookup.wire import Deadline
from milepost.sink.table_existence import missing_table

TABLES = ["orders", "ns:orders"]


class FakeMaster:
    """Has two tables and one namespace of its own."""

    users: list[str]

    def __init__(self, _wire: object) -> None:
        self.users = []

    def send_header(self, user: str) -> None:
        self.users.append(user)

    def has_table(self, namespace: str, qualifier: str) -> bool:
        if qualifier == "closed":
            raise RefusedCallError(b"AccessDeniedException")
        return (qualifier if namespace == "default" else f"{namespace}:{qualifier}") in TABLES

    def tables(self) -> list[str]:
        return [*TABLES, "moving"]

    def namespaces(self) -> list[str]:
        return ["default", "ns"]


@pytest.fixture
def hbase(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def connected(host: str, _port: int, _deadline: Deadline) -> Iterator[str]:
        if host == "down":
            raise ConnectionRefusedError
        yield host

    monkeypatch.setattr(table_existence, "connected", connected)
    monkeypatch.setattr(table_existence, "read_node", lambda wire, path: f"{wire}{path}")
    monkeypatch.setattr(table_existence, "parse_address", lambda node: ("master", len(node)))
    monkeypatch.setattr(table_existence, "Master", FakeMaster)


def sink(table: str, **keys: Any) -> HBaseSink:
    return HBaseSink(
        **{"quorum": "down:1,up:1", "table": table, "row_key": ["id"], "columns": {"d": ["v"]}, **keys}
    )


@pytest.mark.usefixtures("hbase")
def test_a_table_that_is_missing() -> None:
    facts = missing_table(sink("order"))
    assert facts is not None
    assert (facts.exists, facts.namespace_exists) == (False, True)
    assert facts.others == ("moving", "ns:orders", "orders")


@pytest.mark.usefixtures("hbase")
def test_a_namespace_that_is_missing() -> None:
    inside, without = missing_table(sink("ns:order")), missing_table(sink("no:orders"))
    assert inside is not None
    assert without is not None
    assert (inside.namespace_exists, without.namespace_exists) == (True, False)


@pytest.mark.usefixtures("hbase")
@pytest.mark.parametrize("table", ["orders", "ns:orders", "closed", "moving"])
def test_a_table_that_exists_or_that_cannot_be_asked_about(table: str) -> None:
    assert missing_table(sink(table)) is None


@pytest.mark.usefixtures("hbase")
def test_unsupported_settings_and_unreachable_servers() -> None:
    assert missing_table(sink("order", properties={"hbase.security.authentication": "kerberos"})) is None
    assert missing_table(sink("order", quorum="down:1")) is None


def test_a_silent_and_a_closed_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        quorum = "{}:{}".format(*server.getsockname())
        assert missing_table(sink("order", quorum=quorum), patience=0.05) is None
    with socket.create_server(("127.0.0.1", 0)) as server:
        quorum = "{}:{}".format(*server.getsockname())
        server.close()
        assert missing_table(sink("order", quorum=quorum)) is None
