"""Chooses loopback ports; a port may be lost to another process until the server has bound it."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"


def is_free(port: int) -> bool:
    """Return whether a server can bind the port now; a port in TIME_WAIT counts as free, as in Java."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def accepts_connections(port: int, *, timeout: float = 2.0) -> bool:
    """Return whether a process accepts connections on the port."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=timeout).close()
    except OSError:
        return False
    return True


def choose_ports(names: Sequence[str], previous: Mapping[str, int]) -> dict[str, int]:
    """Return a port for every name: the previous one if it is free, so that clients' settings stay valid."""
    kept = {name: previous[name] for name in names if name in previous and is_free(previous[name])}
    missing = [name for name in names if name not in kept]
    with ExitStack() as held:
        # All are held open together, or the system might return the same one twice.
        sockets = [held.enter_context(socket.socket()) for _ in missing]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        chosen = {name: int(s.getsockname()[1]) for name, s in zip(missing, sockets, strict=True)}
    return {name: kept.get(name) or chosen[name] for name in names}
