"""Asks the active HBase master for tables and namespaces, over HBase's RPC without authentication."""

from __future__ import annotations

from dataclasses import dataclass, field

from milepost.sink.lookup import protobuf
from milepost.sink.lookup.wire import Wire

_PREAMBLE = b"HBas\x00\x50"
"""HBase's magic, version 0 of its protocol, and the authentication SIMPLE: a user's name."""
_MASTER_PREFIX = b"PBUF"
_CALL_WITH_PARAMETER = 1
_NOT_FOUND = {
    b"org.apache.hadoop.hbase.TableNotFoundException",
    b"org.apache.hadoop.hbase.master.TableStateManager$TableStateNotFoundException",
}


class RefusedCallError(LookupError):
    """The master answered with an exception of this class."""

    def __init__(self, name: bytes) -> None:
        super().__init__(name.decode(errors="replace"))
        self.name = name


@dataclass(slots=True)
class Master:
    """A connection to the master; its calls are sequential."""

    wire: Wire
    _calls: int = field(default=0, init=False)

    def send_header(self, user: str) -> None:
        """Send the connection header, with the name of the user."""
        user_info = protobuf.field(1, user.encode())
        header = protobuf.field(1, user_info) + protobuf.field(2, b"MasterService")
        self.wire.send(_PREAMBLE)
        self.wire.send_message(header)

    def has_table(self, namespace: str, qualifier: str) -> bool:
        """Return whether the table has a state; the HBase client decides the same way whether a table exists."""
        name = protobuf.field(1, namespace.encode()) + protobuf.field(2, qualifier.encode())
        try:
            self._call(b"GetTableState", protobuf.field(1, name))
        except RefusedCallError as error:
            if error.name in _NOT_FOUND:
                return False
            raise
        return True

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces."""
        return [name.decode() for name in protobuf.strings(self._call(b"ListNamespaces", b""), 1)]

    def tables(self) -> list[str]:
        """Return the tables that the user may see, with their namespace unless it is the default one."""
        found = protobuf.strings(self._call(b"GetTableNames", b""), 1)
        return [_table_name(protobuf.only(table, 1), protobuf.only(table, 2)) for table in found]

    def _call(self, method: bytes, request: bytes) -> bytes:
        self._calls += 1
        header = (
            protobuf.field(1, self._calls)
            + protobuf.field(3, method)
            + protobuf.field(4, _CALL_WITH_PARAMETER)
        )
        self.wire.send_message(protobuf.delimited(header) + protobuf.delimited(request))
        answer_header, rest = protobuf.read_delimited(self.wire.receive_message())
        for exception in protobuf.strings(answer_header, 2):
            raise RefusedCallError(protobuf.only(exception, 1))
        answer, _cells = protobuf.read_delimited(rest)
        return answer


def parse_address(node: bytes) -> tuple[str, int]:
    """Return host and port of the active master from the data of its ZooKeeper node."""
    at = node.find(_MASTER_PREFIX)
    if at < 0:
        raise ValueError("the master's node is not a message of HBase")
    server = dict(protobuf.fields(protobuf.only(node[at + len(_MASTER_PREFIX) :], 1)))
    host, port = server.get(1), server.get(2)
    if not isinstance(host, bytes) or not isinstance(port, int):
        raise ValueError("the master's node names no address")
    return host.decode(), port


def _table_name(namespace: bytes, qualifier: bytes) -> str:
    name = qualifier.decode()
    return name if namespace == b"default" else f"{namespace.decode()}:{name}"
