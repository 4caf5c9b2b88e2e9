"""Sends a flood of requests from a separate process: `python bench/flood.py PORT TOKEN PATH`.

A line on stdin starts the flood and the next one stops it; then the counts are printed. 1,000 requests per second are
due whatever the server does: if every connection waits for a response, another one is opened. In addition, 300
connections send a header byte by byte and never finish it.
"""

from __future__ import annotations

import json
import os
import resource
import selectors
import socket
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

RATE = 1000
SLOW = 300
MAX_WAITING = 4000
"""Maximum number of connections that wait for a response; above it no more requests are sent."""
TICK_S = 0.002
LEAD_S = 0.5
RESPONSE_TIMEOUT_S = 5.0


@dataclass
class Flood:
    """The clients of the flood."""

    port: int
    request: bytes
    events: selectors.DefaultSelector = field(default_factory=selectors.DefaultSelector)
    idle: list[socket.socket] = field(default_factory=list)
    waiting: dict[socket.socket, float] = field(default_factory=dict)
    slow: list[socket.socket] = field(default_factory=list)
    begun: set[int] = field(default_factory=set)
    count: Counter[str] = field(default_factory=Counter)

    def run(self, is_over: selectors.DefaultSelector) -> dict[str, float]:
        """Send the requests that are due until a line arrives on stdin; return the counts."""
        # The slow connections come first: after the others they would not be accepted at all.
        began, used = time.monotonic() + LEAD_S, time.process_time()
        self.trickle()
        slowly = began
        while not is_over.select(0):
            now = time.monotonic()
            for _ in range(int((now - began) * RATE) - self.count["due"]):
                self.request_once(now)
            if now - slowly > 1:
                slowly = now
                self.trickle()
                self.close_expired(now)
            for key, event in self.events.select(TICK_S):
                (self.send if event & selectors.EVENT_WRITE else self.receive)(key.fileobj)  # type: ignore[arg-type]
        seconds = time.monotonic() - began
        self.close()
        return {
            **self.count,
            "seconds": round(seconds, 1),
            "cores": round((time.process_time() - used) / seconds, 3),
        }

    def connect(self) -> socket.socket:
        """Return a new connection, which may not be accepted yet."""
        connection = socket.socket()
        connection.setblocking(False)
        with suppress(BlockingIOError):
            connection.connect(("127.0.0.1", self.port))
        return connection

    def request_once(self, now: float) -> None:
        """Start one request, on an idle connection or a new one."""
        self.count["due"] += 1
        if len(self.waiting) >= MAX_WAITING:
            self.count["held back"] += 1
            return
        connection = self.idle.pop() if self.idle else self.connect()
        self.waiting[connection] = now
        self.events.register(connection, selectors.EVENT_WRITE)

    def send(self, connection: socket.socket) -> None:
        """Send the request on an open connection."""
        try:
            connection.send(self.request)
        except OSError:
            self.end(connection, "closed by server")
        else:
            self.count["sent"] += 1
            self.events.modify(connection, selectors.EVENT_READ)

    def receive(self, connection: socket.socket) -> None:
        """Receive a response, or the end of a connection."""
        try:
            answer = connection.recv(65536)
        except OSError:
            answer = b""
        if answer.startswith(b"HTTP/"):
            self.count[answer[9:12].decode()] += 1
        if answer.endswith(b"\r\n\r\n"):
            return  # the body follows separately
        if answer:
            self.stop_waiting(connection)
            self.idle.append(connection)
        else:
            self.end(connection, "closed by server")

    def end(self, connection: socket.socket, how: str) -> None:
        """Count how a connection ended without a response."""
        self.count[how] += 1
        self.stop_waiting(connection)
        connection.close()

    def stop_waiting(self, connection: socket.socket) -> None:
        """Stop waiting for the response of a connection."""
        del self.waiting[connection]
        self.events.unregister(connection)

    def close_expired(self, now: float) -> None:
        """Close connections that have waited too long, as clients do."""
        for connection in [each for each, since in self.waiting.items() if now - since > RESPONSE_TIMEOUT_S]:
            self.end(connection, "timed out")

    def trickle(self) -> None:
        """Send some of a header on each slow connection, and replace those that were closed."""
        while len(self.slow) < SLOW:
            self.slow.append(self.connect())
        for number, connection in enumerate(self.slow):
            try:
                connection.send(b"GET /jobs HTTP/1.1\r\nX-" if number not in self.begun else b"x")
                self.begun.add(number)
            except BlockingIOError:
                self.count["slow connections not accepted yet"] += 1
            except OSError:
                self.count["slow connections replaced"] += 1
                self.begun.discard(number)
                connection.close()
                self.slow[number] = self.connect()

    def close(self) -> None:
        """Close all connections."""
        for connection in [*self.idle, *self.waiting, *self.slow]:
            connection.close()
        self.events.close()


def main() -> None:
    """Flood between every two lines of stdin, until stdin ends."""
    port, token, path = sys.argv[1:]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the default limit is too low
    # The response must be small enough to arrive in one piece.
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    lines = selectors.DefaultSelector()
    lines.register(sys.stdin.fileno(), selectors.EVENT_READ)
    while os.read(sys.stdin.fileno(), 1):
        print(json.dumps(Flood(int(port), request).run(lines)), flush=True)
        os.read(sys.stdin.fileno(), 1)


if __name__ == "__main__":
    main()
