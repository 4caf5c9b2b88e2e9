"""The driver as a cluster."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from tests.unit.rest.asgi import Server, ack, completed

from milepost.job.status import JobStatus
from milepost.rest.flink.cluster import config_body, overview_body


def test_slots_are_who_acknowledges(server: Server):
    assert server.get("/overview").json["slots-total"] == 0
    server.job.checkpoints.stats.add(completed(1, ack("writer/0"), ack("audit")))
    assert server.get("/overview").json["slots-total"] == 2


def test_what_a_dashboard_asks_first(server: Server):
    assert server.get("/config").json["features"]["web-submit"] is False


def test_a_restarting_job_counts_as_running():
    shown = overview_body(JobStatus.RESTARTING, 4)
    assert (shown["jobs-running"], shown["jobs-failed"], shown["slots-total"]) == (1, 0, 4)
    assert overview_body(JobStatus.CANCELED, 0)["jobs-cancelled"] == 1


def test_nobody_can_submit_code():
    now = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2), "EET"))
    shown = config_body(now)
    assert shown["features"]["web-submit"] is False
    assert (shown["timezone-name"], shown["timezone-offset"]) == ("EET", 7_200_000)
