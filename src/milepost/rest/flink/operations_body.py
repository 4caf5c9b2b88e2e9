"""What is said of something that was triggered: Flink's asynchronous operations."""

from __future__ import annotations

from typing import Any

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.errors import MilepostError

IN_PROGRESS: dict[str, Any] = {"status": {"id": "IN_PROGRESS"}, "operation": None}


def triggered(trigger_id: str) -> dict[str, Any]:
    """Return the id by which a client asks for the result."""
    return {"request-id": trigger_id}


def checkpoint(result: CompletedCheckpoint) -> dict[str, Any]:
    """Return a checkpoint that was asked for."""
    return _completed({"checkpointId": result.checkpoint_id})


def checkpoint_failure(error: BaseException) -> dict[str, Any]:
    """Return why there is none; camelCase, unlike that of a savepoint."""
    return _completed({"failureCause": cause(error)})


def savepoint(location: str) -> dict[str, Any]:
    """Return a savepoint that was asked for."""
    return _completed({"location": location})


def disposed() -> dict[str, Any]:
    """Return that a savepoint is gone."""
    return _completed({})


def failure(error: BaseException) -> dict[str, Any]:
    """Return why there is no savepoint, or why it is still there."""
    return _completed({"failure-cause": cause(error)})


def cause(error: BaseException) -> dict[str, Any]:
    """Return an error as Flink's clients read it: a sentence in place of the stack, and nothing to deserialize."""
    known = isinstance(error, MilepostError)
    text = str(error) if known else "Internal server error."
    return {
        "class": type(error).__name__ if known else "Exception",
        "stack-trace": text,
        "serialized-throwable": "",
    }


def _completed(operation: dict[str, Any]) -> dict[str, Any]:
    return {"status": {"id": "COMPLETED"}, "operation": operation}
