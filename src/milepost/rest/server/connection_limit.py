"""The listening socket of the server, with a limit on the number of its connections.

A client that connects and sends nothing costs the driver a file descriptor. A fixed limit alone would let such clients
lock out all others, so a new connection closes the one that has been open longest without a complete request.
A connection with a request stays open until the request is answered. If all connections have one, new connections stay
in the backlog of the operating system, where they cost nothing. Accepting them and closing them unanswered would use up
the CPU budget of the server.
"""

from __future__ import annotations

import errno
import select
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

MAX_CONNECTIONS = 128
GRACE_S = 0.25
GRACE_ROUNDS = 4
"""Rounds of the event loop after which the first packet of a client has been read: accept, task, transport, data."""
FULL_PAUSE = 0.01
"""Seconds. A connection that is not accepted makes the socket ready again at once: without a pause the loop would spin.
"""


class _Connection(NamedTuple):
    socket: socket.socket
    accepted_at: float
    accepted_in_round: int


class LimitedSocket(socket.socket):
    """A listening socket that never has more than `MAX_CONNECTIONS` connections."""

    def __init__(self, family: int, clock: Callable[[], float] = time.monotonic) -> None:
        # asyncio sets TCP_NODELAY only if the protocol is given; without it a response takes 40 ms.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.is_busy: Callable[[], bool] = lambda: False
        """Whether the limit of concurrent requests is reached, including those of disconnected clients."""
        self._clock = clock
        self._round = 0
        self._is_full = False
        self._idle: OrderedDict[int, _Connection] = OrderedDict()
        self._requesting: OrderedDict[int, _Connection] = OrderedDict()
        self._answered: OrderedDict[int, _Connection] = OrderedDict()

    def begin_round(self) -> float:
        """Count a round of the event loop and return the seconds to pause before it."""
        self._round += 1
        was_full, self._is_full = self._is_full, False
        return FULL_PAUSE if was_full else 0.0

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection if there is room, or if another connection can be closed for it."""
        if not self._has_room():
            self._is_full = True
            raise BlockingIOError(errno.EAGAIN, "the connection limit is reached")
        connection, address = super().accept()
        descriptor = connection.fileno()
        # A descriptor is reused only after its connection was closed.
        for connections in self._groups():
            connections.pop(descriptor, None)
        self._idle[descriptor] = _Connection(connection, self._clock(), self._round)
        return connection, address

    def mark_requesting(self, descriptor: int) -> None:
        """Note that a connection has sent a complete request."""
        self._move(descriptor, self._requesting)

    def mark_answered(self, descriptor: int) -> None:
        """Note that the request of a connection was answered."""
        self._move(descriptor, self._answered)

    def _move(self, descriptor: int, to: OrderedDict[int, _Connection]) -> None:
        for connections in self._groups():
            if (connection := connections.pop(descriptor, None)) is not None:
                to[descriptor] = connection
                return

    def _groups(self) -> tuple[OrderedDict[int, _Connection], ...]:
        return self._idle, self._requesting, self._answered

    def _has_room(self) -> bool:
        if self.is_busy():
            return False
        if self._count() < MAX_CONNECTIONS:
            return True
        self._forget_closed()
        return self._count() < MAX_CONNECTIONS or not self._has_backlog() or self._close_one()

    def _count(self) -> int:
        return sum(len(connections) for connections in self._groups())

    def _forget_closed(self) -> None:
        for connections in self._groups():
            closed = [number for number, each in connections.items() if each.socket.fileno() == -1]
            for descriptor in closed:
                del connections[descriptor]

    def _has_backlog(self) -> bool:
        poll = select.poll()
        poll.register(self, select.POLLIN)
        return bool(poll.poll(0))

    def _close_one(self) -> bool:
        if self._idle and self._is_past_grace(next(iter(self._idle.values()))):
            _, oldest = self._idle.popitem(last=False)
        elif self._answered:
            _, oldest = self._answered.popitem(last=False)
        else:
            return False
        # The loop sees the end of the connection and releases it, as if the client had closed it.
        with suppress(OSError):
            oldest.socket.shutdown(socket.SHUT_RDWR)
        return True

    def _is_past_grace(self, connection: _Connection) -> bool:
        rounds = self._round - connection.accepted_in_round
        return rounds >= GRACE_ROUNDS and self._clock() - connection.accepted_at >= GRACE_S
