"""The port of the server: how many may stand in it, and who goes when another one comes.

Who connects and says nothing costs a file handle of the driver. A fixed number of places alone would let such clients
keep everybody out; so the one who has stood there longest without a whole request makes room.
"""

from __future__ import annotations

import socket
from collections import OrderedDict
from contextlib import suppress
from typing import Any

PLACES = 128


class Door(socket.socket):
    """A listening socket whose connections never are more than its places."""

    def __init__(self, family: int, kind: int) -> None:
        """Let nobody in yet."""
        super().__init__(family, kind)
        self._silent: OrderedDict[int, socket.socket] = OrderedDict()
        self._heard: OrderedDict[int, socket.socket] = OrderedDict()

    def accept(self) -> tuple[socket.socket, Any]:
        """Let one in, and show another one out where the places are taken."""
        connection, address = super().accept()
        handle = connection.fileno()
        # A number is given again only after the connection that had it was closed.
        self._heard.pop(handle, None)
        self._silent.pop(handle, None)
        self._silent[handle] = connection
        if len(self._silent) + len(self._heard) > PLACES:
            self._make_room()
        return connection, address

    def heard(self, handle: int) -> None:
        """Know that this one has said what it wants."""
        if (connection := self._silent.pop(handle, None)) is not None:
            self._heard[handle] = connection

    def _make_room(self) -> None:
        for places in (self._silent, self._heard):
            for handle in [handle for handle, each in places.items() if each.fileno() == -1]:
                del places[handle]
        if len(self._silent) + len(self._heard) <= PLACES:
            return
        # The one who has just come in has had no time to say anything.
        _, longest = (self._silent if len(self._silent) > 1 else self._heard).popitem(last=False)
        # The loop sees the end of the connection and lets go of it, as if the other side had gone.
        with suppress(OSError):
            longest.shutdown(socket.SHUT_RDWR)
