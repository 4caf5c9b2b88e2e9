"""Flink's asynchronous operations, camelCase for checkpoints and kebab-case for savepoints."""

from __future__ import annotations

from tests.unit.rest.asgi import completed

from milepost.errors import CheckpointError
from milepost.rest.flink import operation_results


def test_results():
    assert operation_results.trigger_response("a") == {"request-id": "a"}
    assert operation_results.IN_PROGRESS == {"status": {"id": "IN_PROGRESS"}, "operation": None}
    assert operation_results.checkpoint_result(completed(7))["operation"] == {"checkpointId": 7}
    assert operation_results.savepoint_result("/s/1") == {
        "status": {"id": "COMPLETED"},
        "operation": {"location": "/s/1"},
    }
    assert operation_results.disposal_result() == {"status": {"id": "COMPLETED"}, "operation": {}}


def test_a_failure_is_a_completed_operation_with_a_cause():
    error = CheckpointError("No checkpoint was begun", why="the job has ended")
    assert operation_results.checkpoint_failure(error)["operation"]["failureCause"]["stack-trace"] == str(
        error
    )
    assert operation_results.failure_result(error)["status"] == {"id": "COMPLETED"}
    assert operation_results.failure_result(error)["operation"]["failure-cause"]["class"] == "CheckpointError"


def test_what_we_do_not_know_is_not_told():
    assert "secret" not in str(operation_results.failure_cause(RuntimeError("secret path /x")))
