"""A connection that does not say in time what it wants is closed: a slow client must not hold one for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from milepost.rest.server.connection_limit import Door

HEADER_TIMEOUT = 10.0


class ImpatientProtocol(H11Protocol):
    """uvicorn's, with a limit on the time until a request's headers are complete."""

    door: ClassVar[Door | None] = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on while the headers are incomplete, and no longer once they are there."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
            self._tell_what_was_asked()
        elif self._timer is None:
            self._wait()

    def on_response_complete(self) -> None:
        """Know who has its answer; what it has asked meanwhile is taken up at once."""
        self._tell(Door.answered)
        super().on_response_complete()
        self._tell_what_was_asked()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEADER_TIMEOUT, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell_what_was_asked(self) -> None:
        # Headers alone are not enough: a body that comes byte by byte would hold a place.
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._tell(Door.heard)

    def _tell(self, news: Callable[[Door, int], None]) -> None:
        connection = self.transport.get_extra_info("socket")
        if self.door is not None and connection is not None:
            news(self.door, connection.fileno())


def protocol_behind(door: Door) -> type[ImpatientProtocol]:
    """Return the protocol of the connections that come in by this door."""
    return type("ProtocolBehindDoor", (ImpatientProtocol,), {"door": door})
