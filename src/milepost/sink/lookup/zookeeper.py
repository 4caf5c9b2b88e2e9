"""Reads one node of ZooKeeper with its wire protocol."""

from __future__ import annotations

import struct

from milepost.sink.lookup.wire import Wire

_CONNECT = struct.Struct(">iqiqi16s?")
"""Protocol version, last transaction seen, session timeout, session id, length of the password, password, read-only."""
_PASSWORD_BYTES = 16
_SESSION_MS = 10_000
_REPLY = struct.Struct(">iqi")
"""Number of the request, transaction, error."""
_GET_DATA, _CLOSE = 4, -11


def read_node(wire: Wire, path: str) -> bytes:
    """Return the data of a node; raise LookupError if ZooKeeper answers with an error."""
    password = bytes(_PASSWORD_BYTES)
    wire.send_message(_CONNECT.pack(0, 0, _SESSION_MS, 0, _PASSWORD_BYTES, password, False))
    wire.receive_message()
    name = path.encode()
    wire.send_message(struct.pack(">iii", 1, _GET_DATA, len(name)) + name + b"\0")
    answer = wire.receive_message()
    wire.send_message(struct.pack(">ii", 2, _CLOSE))
    _number, _transaction, error = _REPLY.unpack_from(answer)
    if error:
        raise LookupError(f"ZooKeeper error {error} for {path}")
    (length,) = struct.unpack_from(">i", answer, _REPLY.size)
    start = _REPLY.size + 4
    return answer[start : start + max(length, 0)]
