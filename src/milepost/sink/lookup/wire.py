"""A TCP connection of length-prefixed messages with one deadline for all of them."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_LONGEST_MESSAGE = 16 << 20


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of the monotonic clock."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the moment that many seconds from now."""
        return cls(time.monotonic() + seconds)

    def within(self, seconds: float) -> Deadline:
        """Return the earlier of this moment and the one that many seconds from now."""
        return Deadline(min(self.at, time.monotonic() + seconds))

    def remaining(self) -> float:
        """Return the remaining seconds; raise TimeoutError if there are none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


@dataclass(frozen=True, slots=True)
class Wire:
    """An open connection."""

    socket: socket.socket
    deadline: Deadline

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.settimeout(self.deadline.remaining())
        self.socket.sendall(data)

    def send_message(self, message: bytes) -> None:
        """Send a message, preceded by its length in four bytes."""
        self.send(len(message).to_bytes(4, "big") + message)

    def receive_message(self) -> bytes:
        """Return the next message."""
        length = int.from_bytes(self._receive(4), "big", signed=True)
        if not 0 <= length <= _LONGEST_MESSAGE:
            raise ValueError(f"a message of {length} bytes")
        return self._receive(length)

    def _receive(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            self.socket.settimeout(self.deadline.remaining())
            part = self.socket.recv(length - len(received))
            if not part:
                raise ConnectionError("closed by the server")
            received += part
        return bytes(received)


@contextmanager
def connected(host: str, port: int, deadline: Deadline) -> Iterator[Wire]:
    """Lend out a connection."""
    with socket.create_connection((host, port), timeout=deadline.remaining()) as opened:
        yield Wire(opened, deadline)
