"""The pipeline as a graph: its boxes are Flink's vertices, and numbers stand where they are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.config.conftest import REMOVED, changed
from tests.unit.rest.asgi import Server, ack, completed, later, pending

from milepost.checkpoint.model import PendingCheckpoint
from milepost.config import parse_config
from milepost.rest.flink.job_vertex import vertex_id
from milepost.rest.milepost.graph import graph_body
from milepost.rest.view.sampler import Sample

SAMPLE = Sample(
    at=later(0), rows=10, rows_per_second=5, records_per_second=6, lag=7, lags={"a-0": 3, "b-c-1": 4}
)


def names(body: dict[str, Any]) -> list[str]:
    return [node["name"] for node in body["nodes"]]


def test_from_the_topic_to_the_table(server: Server):
    server.job.checkpoints.stats.add(
        completed(
            1,
            ack("writer/0"),
            ack("writer/1"),
            ack("state/dedupe", rows=9, bytes=2048, details={"instances": 3}),
            ack("tally"),
        )
    )
    body = graph_body(server.config, server.view.checkpoints(), None, SAMPLE)
    assert names(body) == [
        "Source: source",
        "Transform",
        "State: dedupe",
        "Sink: Writer",
        "HBase: orders",
        "tally",
    ]
    source, _, state, writer, sink, participant = body["nodes"]
    assert (source["detail"], source["rate"], source["lag"]) == ("orders", 6, 7)
    assert (state["detail"], state["rows"], state["parallelism"]) == ("2,048 bytes", 9, 3)
    assert (writer["parallelism"], writer["rate"], writer["id"]) == (2, 5, vertex_id("Sink: Writer"))
    assert sink["detail"] == "version: offset"
    assert participant["kind"] == "participant"
    ids = {node["id"]: node["name"] for node in body["nodes"]}
    assert [(ids[edge["from"]], ids[edge["to"]]) for edge in body["edges"]] == [
        ("Source: source", "Transform"),
        ("Transform", "State: dedupe"),
        ("State: dedupe", "Sink: Writer"),
        ("Sink: Writer", "HBase: orders"),
        ("State: dedupe", "tally"),
    ]


def boxes(server: Server, flight: PendingCheckpoint | None) -> list[tuple[str, str]]:
    seen = replace(server.view.checkpoints(), pending=flight)
    body = graph_body(server.config, seen, None, SAMPLE)
    return [(node["name"], node["detail"]) for node in body["nodes"]]


def test_the_boxes_stay_while_a_checkpoint_is_in_flight(server: Server):
    writers = (ack("writer/0"), ack("writer/1"))
    server.job.checkpoints.stats.add(completed(1, *writers, ack("state/0", bytes=2048), ack("tally")))
    calm = boxes(server, None)
    assert ("State: 0", "2,048 bytes") in calm
    for waiting_for in ({"tally"}, {"tally", "writer/0"}, {"tally", "writer/0", "state/0"}):
        assert boxes(server, pending(2, waiting_for)) == calm


def test_the_state_is_in_the_graph_of_a_job_that_was_restored(server: Server):
    server.job.checkpoints.stats.restore(completed(1, ack("writer/0"), ack("state/0", bytes=2048)))
    assert ("State: 0", "2,048 bytes") in boxes(server, pending(2, set()))


def test_the_state_is_in_the_graph_as_soon_as_the_first_batch_is_planned(server: Server):
    assert ("State: 0", "") in boxes(server, pending(0, {"writer/0", "state/0"}))


def test_before_anything_ran_nothing_is_claimed(server: Server):
    body = graph_body(server.config, server.view.checkpoints(), None, None)
    assert names(body) == ["Source: source", "Transform", "Sink: Writer", "HBase: orders"]
    assert {(node["rate"], node["lag"], node["rows"]) for node in body["nodes"]} == {(None, None, None)}


def test_each_of_several_sources_has_its_own_lag(server: Server):
    kafka = {"bootstrap-servers": "localhost:9092"}
    config = parse_config(
        changed(
            {
                "source": REMOVED,
                "sources": {
                    "a": {"kafka": kafka | {"topics": ["a"]}},
                    "b": {"kafka": kafka | {"topics": ["b-c"]}},
                },
                "transform": {"sql": "SELECT * FROM a" + " " * 90 + "JOIN b" * 20},
                "sink": {"console": {}},
            }
        )
    )
    body = graph_body(config, server.view.checkpoints(), None, SAMPLE)
    assert [(node["lag"], node["rate"]) for node in body["nodes"][:2]] == [(3, None), (4, None)]
    assert len(body["nodes"][2]["detail"]) <= 200
    assert body["nodes"][-1]["name"] == "console"
