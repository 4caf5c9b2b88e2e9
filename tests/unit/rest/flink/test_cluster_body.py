"""The driver as a cluster."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from milepost.job.status import JobStatus
from milepost.rest.flink.cluster_body import configuration, overview


def test_a_restarting_job_counts_as_running():
    shown = overview(JobStatus.RESTARTING, 4)
    assert (shown["jobs-running"], shown["jobs-failed"], shown["slots-total"]) == (1, 0, 4)
    assert overview(JobStatus.CANCELED, 0)["jobs-cancelled"] == 1


def test_nobody_can_submit_code():
    now = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2), "EET"))
    shown = configuration(now)
    assert shown["features"]["web-submit"] is False
    assert (shown["timezone-name"], shown["timezone-offset"]) == ("EET", 7_200_000)
