"""What a job counts of itself: times, records, rates."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from milepost.checkpoint.model import Offsets
from milepost.job.monitoring.counters import JobCounters, StatusTimes
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def seen(position: Offsets, **totals: int) -> Progress:
    return Progress(
        checkpoint_id=0,
        running_batch=None,
        tasks=0,
        acknowledged=0,
        finished=False,
        totals=totals,
        position=position,
    )


def test_times_of_a_job_that_was_restarted():
    times = StatusTimes().after_switch(JobStatus.RUNNING, at(0)).after_switch(JobStatus.RESTARTING, at(10))
    times = times.after_switch(JobStatus.RUNNING, at(13))

    assert times.current(JobStatus.RUNNING, at(20)) == timedelta(seconds=7)
    assert times.total(JobStatus.RUNNING, at(20)) == timedelta(seconds=17)
    assert times.current(JobStatus.RESTARTING, at(20)) == timedelta(0)
    assert times.total(JobStatus.RESTARTING, at(20)) == timedelta(seconds=3)


def test_a_clock_that_goes_back_gives_no_negative_time():
    assert StatusTimes().after_switch(JobStatus.RUNNING, at(5)).current(
        JobStatus.RUNNING, at(0)
    ) == timedelta(0)


def test_offsets_are_counted_from_where_the_job_began():
    counters = JobCounters()
    counters.begin({"orders": {0: 100, 1: 5}}, 3, dict)

    counters.record_progress(seen({"orders": {0: 110, 1: 5}}), 0)
    counters.record_progress(seen({"orders": {0: 130, 1: 6}}), 1)

    assert counters.read == {"orders": 31}
    assert counters.epoch == 3


def test_a_partition_that_is_new_counts_from_its_first_look_and_going_back_counts_nothing():
    counters = JobCounters()
    counters.begin({"orders": {0: 10}}, 1, dict)

    counters.record_progress(seen({"orders": {0: 10, 1: 7}}), 0)
    counters.record_progress(seen({"orders": {0: 4, 1: 9}}), 1)

    assert counters.read == {"orders": 2}


def test_rates_are_over_the_last_minute():
    counters = JobCounters()
    counters.begin({"orders": {0: 0}}, 1, dict)
    for second in range(0, 121, 10):
        rows = 0 if second < 60 else (second - 60) * 100
        counters.record_progress(seen({"orders": {0: second}}, rows=rows, puts=rows // 2), second)

    assert counters.rates.rows == 100
    assert counters.rates.changes == 50
    assert counters.rates.read == {"orders": 1}


def test_looks_that_follow_each_other_closely_are_metered_once():
    counters = JobCounters()
    counters.begin({"orders": {0: 0}}, 1, dict)
    for tenth in range(31):
        counters.record_progress(seen({"orders": {0: tenth}}, rows=tenth), tenth / 10)
    assert counters.read == {"orders": 30}
    assert counters.rates.rows == 10
