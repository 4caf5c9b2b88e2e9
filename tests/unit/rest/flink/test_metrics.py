"""What the job tells in numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.rest.asgi import JOB, Server, ack, completed
from tests.unit.rest.metrics.snapshots import PROGRESS, snapshot

from milepost.rest.flink.job_vertex import vertex_id
from milepost.rest.flink.metrics import (
    aggregate_metrics,
    job_values,
    jobmanager_values,
    select_metrics,
    subtask_values,
    vertex_values,
)

SOURCE = f"/jobs/{JOB}/vertices/{vertex_id('Source: source')}"

VALUES = {"a": "1", "b": "2.5", "c": "n/a"}


@pytest.fixture(autouse=True)
def job_with_checkpoints(server: Server) -> None:
    server.job.latest_progress = PROGRESS
    for number in (1, 2):
        wrote = completed(number, ack("writer/0", rows=35))
        server.job.checkpoints.stats.add(replace(wrote, rejected={"MALFORMED": number}))


def test_prometheus_needs_the_token(server: Server):
    assert server.get("/metrics", authorization="").status == 401


def test_prometheus_text(server: Server):
    answer = server.get("/metrics", accept="text/plain;version=0.0.4")
    assert (answer.status, answer.headers["content-type"]) == (
        200,
        "text/plain; version=0.0.4; charset=utf-8",
    )
    samples = {s.name: s.value for f in text_string_to_metric_families(answer.text) for s in f.samples}
    assert samples["flink_jobmanager_job_numberOfCompletedCheckpoints"] == 2
    assert samples["milepost_sink_rows_total"] == 70


def test_openmetrics_where_it_is_accepted(server: Server):
    answer = server.get("/metrics", accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")


@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_metrics_of_the_job(server: Server, prefix: str):
    ids = server.get(f"{prefix}/jobs/{JOB}/metrics").json
    assert {"id": "numRestarts"} in ids
    some = server.get(f"{prefix}/jobs/{JOB}/metrics?get=numRestarts,numberOfCompletedCheckpoints,none").json
    assert some == [
        {"id": "numRestarts", "value": "2"},
        {"id": "numberOfCompletedCheckpoints", "value": "2"},
    ]


def test_metrics_over_jobs(server: Server):
    answer = server.get(f"/jobs/metrics?get=numRestarts&agg=min,SUM&jobs={JOB}").json
    assert answer == [{"id": "numRestarts", "min": 2.0, "sum": 2.0}]
    assert server.get(f"/jobs/metrics?get=numRestarts&jobs={'0' * 32}").json == []
    assert {"id": "numRestarts"} in server.get("/jobs/metrics").json


def test_a_list_may_be_repeated_as_well_as_joined_by_commas(server: Server):
    joined = server.get("/jobs/metrics?get=numRestarts,numberOfCompletedCheckpoints&agg=min,sum").json
    repeated = server.get(
        "/jobs/metrics?get=numRestarts&get=numberOfCompletedCheckpoints&agg=min&agg=sum"
    ).json
    assert repeated == joined
    assert len(joined) == 2


def test_a_negative_subtask_is_not_an_index(server: Server):
    assert server.get(f"{SOURCE}/subtasks/-1/metrics").status == 400


def test_a_wrong_aggregation_is_refused(server: Server):
    answer = server.get("/jobs/metrics?get=numRestarts&agg=median")
    assert (answer.status, "Not a valid aggregation" in answer.json["errors"][0]) == (400, True)


def test_metrics_of_a_vertex(server: Server):
    wanted = "Source__source.numRecordsInErrors"
    assert server.get(f"{SOURCE}/metrics?get=0.{wanted}").json == [{"id": f"0.{wanted}", "value": "3"}]
    assert server.get(f"{SOURCE}/subtasks/0/metrics?get={wanted}").json == [{"id": wanted, "value": "3"}]
    assert server.get(f"{SOURCE}/subtasks/metrics?get={wanted}&agg=max&subtasks=0-3").json == [
        {"id": wanted, "max": 3.0}
    ]
    assert server.get(f"{SOURCE}/subtasks/metrics?get={wanted}&subtasks=1,2").json == []


@pytest.mark.parametrize("wrong", ["x", "-", "1-", "%C2%B2", "0-99999999999999999999", "0;1"])
def test_a_list_of_subtasks_that_is_none_is_refused(server: Server, wrong: str):
    assert server.get(f"{SOURCE}/subtasks/metrics?subtasks={wrong}").status == 400


@pytest.mark.parametrize(
    "path",
    [
        f"/jobs/{'0' * 32}/metrics",
        f"/jobs/{JOB}/vertices/{'0' * 32}/metrics",
        f"/jobs/{'0' * 32}/vertices/{vertex_id('Source: source')}/metrics",
        f"{SOURCE}/subtasks/1/metrics",
        f"{SOURCE}/jm-operator-metrics",
        "/taskmanagers/metrics",
        "/taskmanagers/driver/metrics",
    ],
)
def test_what_has_no_metrics_has_an_empty_list(server: Server, path: str):
    answer = server.get(path)
    assert (answer.status, answer.json) == (200, [])


def test_metrics_of_the_driver(server: Server):
    assert server.get("/jobmanager/metrics?get=numRunningJobs").json == [
        {"id": "numRunningJobs", "value": "1"}
    ]


def test_every_source_and_the_sink_of_the_jobs_graph_have_metrics(server: Server):
    server.job.checkpoints.stats.add(completed(3, ack("writer/0")))
    vertices = {each["name"]: each["id"] for each in server.get(f"/jobs/{JOB}").json["vertices"]}
    for name in ("Source: source", "Sink: Writer"):
        found = server.get(f"/jobs/{JOB}/vertices/{vertices[name]}/metrics").json
        assert {"id": "0.numRecordsIn"} in found, name


def test_ids_where_nothing_is_asked_for():
    assert select_metrics(VALUES, []) == [{"id": "a"}, {"id": "b"}, {"id": "c"}]


def test_values_are_texts_and_what_is_not_there_is_left_out():
    assert select_metrics(VALUES, ["b", "a", "b", "x"]) == [
        {"id": "b", "value": "2.5"},
        {"id": "a", "value": "1"},
    ]


def test_all_aggregations_unless_some_are_chosen():
    several = [{"a": "1"}, {"a": "3"}]
    whole = {"id": "a", "min": 1.0, "max": 3.0, "avg": 2.0, "sum": 4.0, "skew": 50.0}
    assert aggregate_metrics(several, ["a"], []) == [whole]
    assert aggregate_metrics(several, ["a"], ["max"]) == [{"id": "a", "max": 3.0}]
    assert aggregate_metrics(several, [], []) == [{"id": "a"}]
    assert aggregate_metrics([{"a": "0"}], ["a"], ["skew"]) == [{"id": "a", "skew": 0.0}]


def test_what_is_no_number_is_passed_over_and_what_is_missing_ends_the_answer():
    assert aggregate_metrics([VALUES], ["c", "a"], ["sum"]) == [{"id": "a", "sum": 1.0}]
    assert aggregate_metrics([VALUES], ["a", "x"], ["sum"]) == []


def test_values_of_the_job_as_flink_writes_them():
    found = job_values(snapshot())
    assert found["numberOfCompletedCheckpoints"] == "8"
    assert found["lastCheckpointExternalPath"].endswith("/7.json")
    assert jobmanager_values(snapshot())["numRunningJobs"] == "1"


def test_names_of_a_subtask_and_its_operator():
    found = subtask_values(snapshot(), "Source: source")
    assert found["numRecordsIn"] == "60"
    assert found["numRecordsInPerSecond"] == "0.0"
    assert found["Source__source.KafkaSourceReader.topic.my-orders.partition.0.currentOffset"] == "99"
    assert found["Source__source.KafkaSourceReader.commitsSucceeded"] == "5"
    assert "numRecordsSend" not in found
    assert vertex_values(snapshot(), "Sink: Writer")["0.Sink__Writer.numRecordsSend"] == "66"
