"""What Flink says of every task."""

from __future__ import annotations

from tests.unit.rest.asgi import FakeJob, ack, later

from milepost.job.status import JobStatus
from milepost.rest.flink import task_info
from milepost.rest.flink.job_vertex import Vertex


def test_times_of_a_running_job_go_on_and_of_an_ended_one_stay():
    job = FakeJob()
    assert task_info.job_times(job, later(3))["duration"] == 3000
    assert task_info.job_times(job, later(3))["end-time"] == -1
    job.status = JobStatus.FINISHED
    job.moved_at = {**job.moved_at, JobStatus.FINISHED: later(2)}
    assert task_info.job_times(job, later(9))["duration"] == 2000


def test_tasks_are_in_the_state_of_the_job():
    states = [
        task_info.task_state(each) for each in (JobStatus.RUNNING, JobStatus.RESTARTING, JobStatus.CANCELLING)
    ]
    assert states == ["RUNNING", "CREATED", "CANCELING"]
    assert task_info.count_by_state("RUNNING", 3)["RUNNING"] == 3
    assert sum(task_info.count_by_state("RUNNING", 3).values()) == 3


def test_measures_are_aggregated():
    writers = Vertex("Sink: Writer", {n: ack(f"writer/{n}", rows=n) for n in range(4)})
    metrics = [task_info.subtask_io(writers, n) for n in range(4)]
    found = task_info.aggregate_tasks(metrics, [task_info.state_durations("RUNNING", 10)] * 4)
    rows = found["metrics"]["write-records"]
    assert (rows["min"], rows["max"], rows["avg"], rows["sum"]) == (0, 3, 1, 6)
    assert rows["p25"] <= rows["median"] <= rows["p75"] <= rows["p95"]
    assert found["status-duration"]["RUNNING"]["avg"] == 10
    assert found["status-duration"]["CREATED"]["max"] == -1
    assert task_info.aggregate_tasks([], [])["metrics"]["read-bytes"]["sum"] == 0
