"""The driver as a cluster."""

from __future__ import annotations

from tests.unit.rest.asgi import Server, ack, completed


def test_slots_are_who_acknowledges(server: Server):
    assert server.get("/overview").json["slots-total"] == 0
    server.job.checkpoints.stats.add(completed(1, ack("writer/0"), ack("audit")))
    assert server.get("/overview").json["slots-total"] == 2


def test_what_a_dashboard_asks_first(server: Server):
    assert server.get("/config").json["features"]["web-submit"] is False
