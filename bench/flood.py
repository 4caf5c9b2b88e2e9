"""A flood of requests, as a process of its own: `python bench/flood.py PORT TOKEN PATH`.

A line on its input begins the flood, the next one ends it; then it prints what it has counted. 1,000 requests a second
are due whatever the server does: where every connection waits for its answer, another one is opened. Beside them 300
connections send a header byte by byte and never its end.
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
MOST = 4000
"""Connections at once that wait for an answer; a server that closes none gets no more requests."""
TICK_S = 0.002
LEAD_S = 0.5
PATIENCE_S = 5.0


@dataclass
class Flood:
    """The side of those who ask."""

    port: int
    request: bytes
    events: selectors.DefaultSelector = field(default_factory=selectors.DefaultSelector)
    idle: list[socket.socket] = field(default_factory=list)
    waiting: dict[socket.socket, float] = field(default_factory=dict)
    slow: list[socket.socket] = field(default_factory=list)
    begun: set[int] = field(default_factory=set)
    count: Counter[str] = field(default_factory=Counter)

    def run(self, is_over: selectors.DefaultSelector) -> dict[str, float]:
        """Send what is due until a line comes in; return what was counted."""
        # The slow ones come first: behind the others they would not get in at all.
        began, used = time.monotonic() + LEAD_S, time.process_time()
        self.trickle()
        slowly = began
        while not is_over.select(0):
            now = time.monotonic()
            for _ in range(int((now - began) * RATE) - self.count["due"]):
                self.ask(now)
            if now - slowly > 1:
                slowly = now
                self.trickle()
                self.give_up(now)
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
        """Return a new connection, which may still wait to be let in."""
        connection = socket.socket()
        connection.setblocking(False)
        with suppress(BlockingIOError):
            connection.connect(("127.0.0.1", self.port))
        return connection

    def ask(self, now: float) -> None:
        """Ask once: on a connection that waits for nothing, or on a new one."""
        self.count["due"] += 1
        if len(self.waiting) >= MOST:
            self.count["held back"] += 1
            return
        connection = self.idle.pop() if self.idle else self.connect()
        self.waiting[connection] = now
        self.events.register(connection, selectors.EVENT_WRITE)

    def send(self, connection: socket.socket) -> None:
        """Send the request, now that the connection stands."""
        try:
            connection.send(self.request)
        except OSError:
            self.end(connection, "shown out")
        else:
            self.count["sent"] += 1
            self.events.modify(connection, selectors.EVENT_READ)

    def receive(self, connection: socket.socket) -> None:
        """Take an answer, or the end of a connection."""
        try:
            answer = connection.recv(65536)
        except OSError:
            answer = b""
        if answer.startswith(b"HTTP/"):
            self.count[answer[9:12].decode()] += 1
        if answer.endswith(b"\r\n\r\n"):
            return  # the body comes by itself
        if answer:
            self.let_go(connection)
            self.idle.append(connection)
        else:
            self.end(connection, "shown out")

    def end(self, connection: socket.socket, how: str) -> None:
        """Count how a connection ended without its answer."""
        self.count[how] += 1
        self.let_go(connection)
        connection.close()

    def let_go(self, connection: socket.socket) -> None:
        """Wait no more for its answer."""
        del self.waiting[connection]
        self.events.unregister(connection)

    def give_up(self, now: float) -> None:
        """Close what has waited for too long, as clients do."""
        for connection in [each for each, since in self.waiting.items() if now - since > PATIENCE_S]:
            self.end(connection, "given up")

    def trickle(self) -> None:
        """Send some of a header on each slow connection, and replace those that were closed."""
        while len(self.slow) < SLOW:
            self.slow.append(self.connect())
        for number, connection in enumerate(self.slow):
            try:
                connection.send(b"GET /jobs HTTP/1.1\r\nX-" if number not in self.begun else b"x")
                self.begun.add(number)
            except BlockingIOError:
                self.count["slow ones not let in yet"] += 1
            except OSError:
                self.count["slow ones replaced"] += 1
                self.begun.discard(number)
                connection.close()
                self.slow[number] = self.connect()

    def close(self) -> None:
        """Leave the server alone."""
        for connection in [*self.idle, *self.waiting, *self.slow]:
            connection.close()
        self.events.close()


def main() -> None:
    """Flood from one line of the input to the next, until it ends."""
    port, token, path = sys.argv[1:]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the usual one is below the connections at once
    # The answer must be small enough to come in one piece.
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    lines = selectors.DefaultSelector()
    lines.register(sys.stdin.fileno(), selectors.EVENT_READ)
    while os.read(sys.stdin.fileno(), 1):
        print(json.dumps(Flood(int(port), request).run(lines)), flush=True)
        os.read(sys.stdin.fileno(), 1)


if __name__ == "__main__":
    main()
