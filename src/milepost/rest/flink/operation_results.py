"""The responses of Flink's asynchronous operations."""

from __future__ import annotations

from typing import Any

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.errors import MilepostError

IN_PROGRESS: dict[str, Any] = {"status": {"id": "IN_PROGRESS"}, "operation": None}


def trigger_response(trigger_id: str) -> dict[str, Any]:
    """Return the id with which a client fetches the result."""
    return {"request-id": trigger_id}


def checkpoint_result(result: CompletedCheckpoint) -> dict[str, Any]:
    """Return a completed checkpoint."""
    return _completed({"checkpointId": result.checkpoint_id})


def checkpoint_failure(error: BaseException) -> dict[str, Any]:
    """Return the failure of a checkpoint; camelCase, unlike that of a savepoint."""
    return _completed({"failureCause": failure_cause(error)})


def savepoint_result(location: str) -> dict[str, Any]:
    """Return the path of a completed savepoint."""
    return _completed({"location": location})


def disposal_result() -> dict[str, Any]:
    """Return that a savepoint was disposed of."""
    return _completed({})


def failure_result(error: BaseException) -> dict[str, Any]:
    """Return the failure of a savepoint or of its disposal."""
    return _completed({"failure-cause": failure_cause(error)})


def failure_cause(error: BaseException) -> dict[str, Any]:
    """Return an error for Flink's clients: a sentence instead of the stack trace, and nothing to deserialize."""
    known = isinstance(error, MilepostError)
    text = str(error) if known else "Internal server error."
    return {
        "class": type(error).__name__ if known else "Exception",
        "stack-trace": text,
        "serialized-throwable": "",
    }


def _completed(operation: dict[str, Any]) -> dict[str, Any]:
    return {"status": {"id": "COMPLETED"}, "operation": operation}
