"""Closes a connection whose request headers are not complete in time, so that a slow client cannot hold one forever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from milepost.rest.server.connection_limit import LimitedSocket

HEADER_TIMEOUT = 10.0


class HeaderTimeoutProtocol(H11Protocol):
    """uvicorn's protocol with a limit on the time until the headers of a request are complete."""

    listener: ClassVar[LimitedSocket | None] = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Stop the timer once the headers are complete."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
            self._report_request()
        elif self._timer is None:
            self._start_timer()

    def on_response_complete(self) -> None:
        """Report the response; a request that arrived meanwhile is processed at once."""
        self._report(LimitedSocket.mark_answered)
        super().on_response_complete()
        self._report_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEADER_TIMEOUT, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _report_request(self) -> None:
        # Headers alone are not enough: a body that arrives byte by byte would protect its connection.
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._report(LimitedSocket.mark_requesting)

    def _report(self, mark: Callable[[LimitedSocket, int], None]) -> None:
        connection = self.transport.get_extra_info("socket")
        if self.listener is not None and connection is not None:
            mark(self.listener, connection.fileno())


def protocol_for(listener: LimitedSocket) -> type[HeaderTimeoutProtocol]:
    """Return a protocol class that reports its requests to a listening socket."""
    return type("ListenerProtocol", (HeaderTimeoutProtocol,), {"listener": listener})
