"""A job's states over drivers: each has its end, and a driver that was lost is told of."""

from __future__ import annotations

from tests.unit.rest.asgi import later

from milepost.checkpoint.store.history import JobEvent
from milepost.job.status import JobStatus
from milepost.rest.flink.vertices_body import milliseconds
from milepost.rest.milepost.timeline import Now, timeline
from milepost.rest.view.history_cache import Stay


def stay(job: str, status: str, at: float, heard: float | None = None, detail: str = "") -> Stay:
    return Stay(
        JobEvent(at=later(at), job_id=job, status=status, detail=detail),
        later(at if heard is None else heard),
    )


def told(*stays: Stay, status: JobStatus = JobStatus.RUNNING) -> list[tuple[str, float | None, bool]]:
    body = timeline(stays, Now("b", status, later(100)))
    start = milliseconds(later(0))
    return [
        (each["state"], None if each["to"] is None else (each["to"] - start) / 1000, each["lost"])
        for each in body["states"]
    ]


def test_a_restart_is_told_with_its_reason():
    stays = [
        stay("b", "RUNNING", 0, 8),
        stay("b", "RESTARTING", 10, detail="The table is gone"),
        stay("b", "RUNNING", 12, 20),
    ]
    assert told(*stays) == [("RUNNING", 10, False), ("RESTARTING", 12, False), ("RUNNING", None, False)]
    body = timeline(stays, Now("b", JobStatus.RUNNING, later(100)))
    assert (body["restarts"], body["states"][1]["reason"]) == (1, "The table is gone")


def test_a_driver_that_was_killed_is_lost_and_a_job_that_ended_is_not():
    assert told(
        stay("a", "RUNNING", 0, 8),
        stay("b", "RUNNING", 50, 60),
        stay("b", "FINISHED", 70),
        stay("c", "RUNNING", 80),
    ) == [("RUNNING", 8, True), ("RUNNING", 70, False), ("FINISHED", 70, False), ("RUNNING", None, False)]


def test_the_newest_state_is_the_end_or_lost():
    assert told(stay("b", "FAILED", 5), status=JobStatus.FAILED) == [("FAILED", 5, False)]
    assert told(stay("b", "RUNNING", 5, 9), status=JobStatus.FAILED) == [("RUNNING", 9, True)]
    assert told() == []
