"""Flink's asynchronous operations, camelCase for checkpoints and kebab-case for savepoints."""

from __future__ import annotations

from tests.unit.rest.asgi import completed

from milepost.errors import CheckpointError
from milepost.rest.body import operations


def test_results():
    assert operations.triggered("a") == {"request-id": "a"}
    assert operations.IN_PROGRESS == {"status": {"id": "IN_PROGRESS"}, "operation": None}
    assert operations.checkpoint(completed(7))["operation"] == {"checkpointId": 7}
    assert operations.savepoint("/s/1") == {"status": {"id": "COMPLETED"}, "operation": {"location": "/s/1"}}
    assert operations.disposed() == {"status": {"id": "COMPLETED"}, "operation": {}}


def test_a_failure_is_a_completed_operation_with_a_cause():
    error = CheckpointError("No checkpoint was begun", why="the job has ended")
    assert operations.checkpoint_failure(error)["operation"]["failureCause"]["stack-trace"] == str(error)
    assert operations.failure(error)["status"] == {"id": "COMPLETED"}
    assert operations.failure(error)["operation"]["failure-cause"]["class"] == "CheckpointError"


def test_what_we_do_not_know_is_not_told():
    assert "secret" not in str(operations.cause(RuntimeError("secret path /x")))
