"""Flink's asynchronous operations, camelCase for checkpoints and kebab-case for savepoints."""

from __future__ import annotations

from tests.unit.rest.asgi import completed

from milepost.errors import CheckpointError
from milepost.rest.flink import operations_body


def test_results():
    assert operations_body.triggered("a") == {"request-id": "a"}
    assert operations_body.IN_PROGRESS == {"status": {"id": "IN_PROGRESS"}, "operation": None}
    assert operations_body.checkpoint(completed(7))["operation"] == {"checkpointId": 7}
    assert operations_body.savepoint("/s/1") == {
        "status": {"id": "COMPLETED"},
        "operation": {"location": "/s/1"},
    }
    assert operations_body.disposed() == {"status": {"id": "COMPLETED"}, "operation": {}}


def test_a_failure_is_a_completed_operation_with_a_cause():
    error = CheckpointError("No checkpoint was begun", why="the job has ended")
    assert operations_body.checkpoint_failure(error)["operation"]["failureCause"]["stack-trace"] == str(error)
    assert operations_body.failure(error)["status"] == {"id": "COMPLETED"}
    assert operations_body.failure(error)["operation"]["failure-cause"]["class"] == "CheckpointError"


def test_what_we_do_not_know_is_not_told():
    assert "secret" not in str(operations_body.cause(RuntimeError("secret path /x")))
