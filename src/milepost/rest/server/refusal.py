"""A refused request: its status and one short sentence, never a stack trace."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """Ends a request with an error in Flink's format."""

    def __init__(self, status: int, message: str) -> None:
        """Store the message for the client; it must not repeat unvalidated input."""
        super().__init__(message)
        self.status = status
        self.message = message

    def body(self) -> dict[str, Any]:
        """Return the body of the response."""
        return errors(self.message)


def errors(message: str) -> dict[str, Any]:
    """Return the body of every error response."""
    return {"errors": [message]}
