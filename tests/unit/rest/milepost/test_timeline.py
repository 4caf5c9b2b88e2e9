"""A job's states over drivers: each has its end, and a driver that was lost is told of."""

from __future__ import annotations

from tests.unit.rest.asgi import JOB, START, Server, completed, later

from milepost.checkpoint.store.history import History, JobEvent
from milepost.checkpoint.store.store import LocalStore
from milepost.job.status import JobStatus
from milepost.rest.milepost.timeline import CurrentState, timeline_body
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.history_cache import StateInterval

OWN = f"/milepost/jobs/{JOB}"


def interval(job: str, status: str, at: float, heard: float | None = None, detail: str = "") -> StateInterval:
    return StateInterval(
        JobEvent(at=later(at), job_id=job, status=status, detail=detail),
        later(at if heard is None else heard),
    )


def told(
    *intervals: StateInterval, status: JobStatus = JobStatus.RUNNING
) -> list[tuple[str, float | None, bool]]:
    body = timeline_body(intervals, CurrentState("b", status, later(100)))
    start = milliseconds(later(0))
    return [
        (each["state"], None if each["to"] is None else (each["to"] - start) / 1000, each["lost"])
        for each in body["states"]
    ]


def test_a_restart_is_told_with_its_reason():
    intervals = [
        interval("b", "RUNNING", 0, 8),
        interval("b", "RESTARTING", 10, detail="The table is gone"),
        interval("b", "RUNNING", 12, 20),
    ]
    assert told(*intervals) == [("RUNNING", 10, False), ("RESTARTING", 12, False), ("RUNNING", None, False)]
    body = timeline_body(intervals, CurrentState("b", JobStatus.RUNNING, later(100)))
    assert (body["restarts"], body["states"][1]["reason"]) == (1, "The table is gone")


def test_a_driver_that_was_killed_is_lost_and_a_job_that_ended_is_not():
    assert told(
        interval("a", "RUNNING", 0, 8),
        interval("b", "RUNNING", 50, 60),
        interval("b", "FINISHED", 70),
        interval("c", "RUNNING", 80),
    ) == [("RUNNING", 8, True), ("RUNNING", 70, False), ("FINISHED", 70, False), ("RUNNING", None, False)]


def test_the_newest_state_is_the_end_or_lost():
    assert told(interval("b", "FAILED", 5), status=JobStatus.FAILED) == [("FAILED", 5, False)]
    assert told(interval("b", "RUNNING", 5, 9), status=JobStatus.FAILED) == [("RUNNING", 9, True)]
    assert told() == []


def test_states_of_the_history_are_served(server: Server):
    history = History(LocalStore(server.folder))
    history.append(JobEvent(at=START, job_id=JOB, status="RUNNING"))
    history.append(completed(7))
    assert [each["state"] for each in server.get(f"{OWN}/timeline").json["states"]] == ["RUNNING"]
