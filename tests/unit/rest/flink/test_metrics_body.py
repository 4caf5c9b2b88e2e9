"""Flink's answers about metrics."""

from __future__ import annotations

from tests.unit.rest.metrics.moments import moment

from milepost.rest.flink.metrics_body import (
    aggregated,
    collected,
    of_job,
    of_jobmanager,
    of_subtask,
    of_vertex,
)

VALUES = {"a": "1", "b": "2.5", "c": "n/a"}


def test_ids_where_nothing_is_asked_for():
    assert collected(VALUES, []) == [{"id": "a"}, {"id": "b"}, {"id": "c"}]


def test_values_are_texts_and_what_is_not_there_is_left_out():
    assert collected(VALUES, ["b", "a", "b", "x"]) == [{"id": "b", "value": "2.5"}, {"id": "a", "value": "1"}]


def test_all_aggregations_unless_some_are_chosen():
    several = [{"a": "1"}, {"a": "3"}]
    whole = {"id": "a", "min": 1.0, "max": 3.0, "avg": 2.0, "sum": 4.0, "skew": 50.0}
    assert aggregated(several, ["a"], []) == [whole]
    assert aggregated(several, ["a"], ["max"]) == [{"id": "a", "max": 3.0}]
    assert aggregated(several, [], []) == [{"id": "a"}]
    assert aggregated([{"a": "0"}], ["a"], ["skew"]) == [{"id": "a", "skew": 0.0}]


def test_what_is_no_number_is_passed_over_and_what_is_missing_ends_the_answer():
    assert aggregated([VALUES], ["c", "a"], ["sum"]) == [{"id": "a", "sum": 1.0}]
    assert aggregated([VALUES], ["a", "x"], ["sum"]) == []


def test_values_of_the_job_as_flink_writes_them():
    found = of_job(moment())
    assert found["numberOfCompletedCheckpoints"] == "8"
    assert found["lastCheckpointExternalPath"].endswith("/7.json")
    assert of_jobmanager(moment())["numRunningJobs"] == "1"


def test_names_of_a_subtask_and_its_operator():
    found = of_subtask(moment(), "Source: source")
    assert found["numRecordsIn"] == "60"
    assert found["numRecordsInPerSecond"] == "0.0"
    assert found["Source__source.KafkaSourceReader.topic.my-orders.partition.0.currentOffset"] == "99"
    assert found["Source__source.KafkaSourceReader.commitsSucceeded"] == "5"
    assert "numRecordsSend" not in found
    assert of_vertex(moment(), "Sink: Writer")["0.Sink__Writer.numRecordsSend"] == "66"
