"""The port of the server: how many may stand in it, and who goes when another one comes.

Who connects and says nothing costs a file handle of the driver. A fixed number of places alone would let such clients
keep everybody out; so the one who has stood there longest without a whole request makes room. Who has asked stays until
it is answered: where all places are taken by those, the next ones wait outside, in the system's queue, at no cost. To
let them in and show them out again unanswered would take all that the server may use.
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

PLACES = 128
CHANCE_S = 0.25
CHANCE_ROUNDS = 4
"""Of the loop, until what a client sent with its first packet was surely read: accept, task, transport, data."""
FULL_PAUSE = 0.01
"""A socket that is not accepted is ready at once again: without a pause the loop would spin."""


class _Guest(NamedTuple):
    connection: socket.socket
    came_at: float
    came_in_round: int


class Door(socket.socket):
    """A listening socket whose connections never are more than its places."""

    def __init__(self, family: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Let nobody in yet."""
        # asyncio lets small packets go at once only where the protocol is named: else an answer takes 40 ms.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.is_busy: Callable[[], bool] = lambda: False
        """Whether as many requests are worked on as may be, also of those who have gone since."""
        self._clock = clock
        self._round = 0
        self._is_full = False
        self._silent: OrderedDict[int, _Guest] = OrderedDict()
        self._asking: OrderedDict[int, _Guest] = OrderedDict()
        self._answered: OrderedDict[int, _Guest] = OrderedDict()

    def begin_round(self) -> float:
        """Know that the loop looks for news again; return how long it shall wait before that."""
        self._round += 1
        was_full, self._is_full = self._is_full, False
        return FULL_PAUSE if was_full else 0.0

    def accept(self) -> tuple[socket.socket, Any]:
        """Let one in where there is room, or where another one can be shown out."""
        if not self._has_room():
            self._is_full = True
            raise BlockingIOError(errno.EAGAIN, "every place is taken")
        connection, address = super().accept()
        handle = connection.fileno()
        # A number is given again only after the connection that had it was closed.
        for guests in self._places():
            guests.pop(handle, None)
        self._silent[handle] = _Guest(connection, self._clock(), self._round)
        return connection, address

    def heard(self, handle: int) -> None:
        """Know that this one has asked for something."""
        self._move(handle, self._asking)

    def answered(self, handle: int) -> None:
        """Know that this one has its answer."""
        self._move(handle, self._answered)

    def _move(self, handle: int, to: OrderedDict[int, _Guest]) -> None:
        for guests in self._places():
            if (guest := guests.pop(handle, None)) is not None:
                to[handle] = guest
                return

    def _places(self) -> tuple[OrderedDict[int, _Guest], ...]:
        return self._silent, self._asking, self._answered

    def _has_room(self) -> bool:
        if self.is_busy():
            return False
        if self._taken() < PLACES:
            return True
        self._forget_the_gone()
        return self._taken() < PLACES or not self._somebody_waits() or self._show_one_out()

    def _taken(self) -> int:
        return sum(len(guests) for guests in self._places())

    def _forget_the_gone(self) -> None:
        for guests in self._places():
            for handle in [handle for handle, each in guests.items() if each.connection.fileno() == -1]:
                del guests[handle]

    def _somebody_waits(self) -> bool:
        poll = select.poll()
        poll.register(self, select.POLLIN)
        return bool(poll.poll(0))

    def _show_one_out(self) -> bool:
        if self._silent and self._had_its_chance(next(iter(self._silent.values()))):
            _, longest = self._silent.popitem(last=False)
        elif self._answered:
            _, longest = self._answered.popitem(last=False)
        else:
            return False
        # The loop sees the end of the connection and lets go of it, as if the other side had gone.
        with suppress(OSError):
            longest.connection.shutdown(socket.SHUT_RDWR)
        return True

    def _had_its_chance(self, guest: _Guest) -> bool:
        return (
            self._round - guest.came_in_round >= CHANCE_ROUNDS and self._clock() - guest.came_at >= CHANCE_S
        )
