"""Flink's metrics of the job as a whole."""

from __future__ import annotations

import pytest
from tests.unit.rest.asgi import later, pending
from tests.unit.rest.metrics.snapshots import checkpoints, snapshot

from milepost.job.status import JobStatus
from milepost.rest.metrics.job import METRICS
from milepost.rest.metrics.snapshot import Snapshot


def values(at: Snapshot) -> dict[str, float | str]:
    return {metric.name: sample.value for metric in METRICS for sample in metric.read(at)}


def test_a_checkpoint_in_flight_is_counted():
    found = values(snapshot(checkpoints=checkpoints(pending=pending(8, {"writer/0"}))))
    assert (found["numberOfInProgressCheckpoints"], found["totalNumberOfCheckpoints"]) == (1, 12)


def test_where_the_newest_checkpoint_lies():
    assert str(values(snapshot())["lastCheckpointExternalPath"]).endswith("/milepost/checkpoints/7.json")
    none = values(snapshot(checkpoints=checkpoints(latest_completed=None)))
    assert none["lastCheckpointExternalPath"] == "n/a"


def test_a_restore_has_its_time():
    assert values(snapshot())["lastCheckpointRestoreTimestamp"] == later(12).timestamp() * 1000
    assert values(snapshot(checkpoints=checkpoints(restored=None)))["lastCheckpointRestoreTimestamp"] == -1


def test_up_and_down():
    running = values(snapshot())
    assert (running["uptime"], running["downtime"]) == (8000, 0)
    waiting = snapshot(status=JobStatus.RESTARTING)
    waiting.counters.record_status(JobStatus.RESTARTING, later(15))
    assert (values(waiting)["uptime"], values(waiting)["downtime"]) == (0, 5000)


@pytest.mark.parametrize("status", [JobStatus.FINISHED, JobStatus.FAILED, JobStatus.CANCELED])
def test_a_job_that_has_ended_is_neither_up_nor_down(status: JobStatus):
    found = values(snapshot(status=status))
    assert (found["uptime"], found["downtime"], found["runningState"]) == (-1, -1, 0)


def test_a_status_that_a_job_never_has_here_is_zero():
    found = values(snapshot())
    assert (found["failingState"], found["failingTime"], found["failingTimeTotal"]) == (0, 0, 0)
