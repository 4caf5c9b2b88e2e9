"""The pipeline as a graph: its boxes are Flink's vertices, and numbers stand where they are known."""

from __future__ import annotations

from typing import Any

from tests.unit.config.conftest import REMOVED, changed
from tests.unit.rest.asgi import Server, ack, completed, later

from milepost.config import parse_config
from milepost.rest.body.graph import graph
from milepost.rest.body.vertices import vertex_id
from milepost.rest.watch.sampler import Sample

SAMPLE = Sample(
    at=later(0), rows=10, rows_per_second=5, records_per_second=6, lag=7, lags={"a-0": 3, "b-c-1": 4}
)


def names(body: dict[str, Any]) -> list[str]:
    return [node["name"] for node in body["nodes"]]


def test_from_the_topic_to_the_table(server: Server):
    server.job.checkpoints.stats.add(
        completed(1, ack("writer/0"), ack("writer/1"), ack("state/dedupe", bytes=2048), ack("tally"))
    )
    body = graph(server.config, server.served.checkpoints(), None, SAMPLE)
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
    assert state["detail"] == "2,048 bytes"
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


def test_before_anything_ran_nothing_is_claimed(server: Server):
    body = graph(server.config, server.served.checkpoints(), None, None)
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
    body = graph(config, server.served.checkpoints(), None, SAMPLE)
    assert [(node["lag"], node["rate"]) for node in body["nodes"][:2]] == [(3, None), (4, None)]
    assert len(body["nodes"][2]["detail"]) == 80
    assert body["nodes"][-1]["name"] == "console"
