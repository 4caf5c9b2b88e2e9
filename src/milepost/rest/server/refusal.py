"""A request that is refused: its status and one short sentence, never a stack trace."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """Ends a request with an error of Flink's shape."""

    def __init__(self, status: int, message: str) -> None:
        """Keep what is told to the client; it holds nothing of the request that was not asked for."""
        super().__init__(message)
        self.status = status
        self.message = message

    def body(self) -> dict[str, Any]:
        """Return the body of the answer."""
        return errors(self.message)


def errors(message: str) -> dict[str, Any]:
    """Return the body of every answer that is not a result."""
    return {"errors": [message]}
