"""The Kafka source: every key, its defaults, and what does not fit together."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from milepost.config import KafkaSource, parse_config
from milepost.errors import ConfigError

K = "source/kafka/"
AVRO = json.dumps({"type": "record", "name": "order", "fields": [{"name": "id", "type": "string"}]})

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({K + "bootstrap-servers": ""}, "bootstrap-servers", "is empty"),
    ({K + "bootstrap-servers": "localhost"}, "bootstrap-servers", "has no port"),
    ({K + "topics": []}, "topics", "must not be empty"),
    ({K + "topics": ["a", "a"]}, "topics", "more than once"),
    ({K + "topics": ["__consumer_offsets"]}, "topics[0]", "internal topic of Kafka"),
    ({K + "topic-pattern": "o.*"}, "topic-pattern", "cannot be combined with topics"),
    ({K + "start": "group-offsets"}, "group-id", "is required if start is group-offsets"),
    ({K + "group-id": 5}, "group-id", "must be text; put quotes"),
    ({K + "start-fallback": "erliest"}, "start-fallback", "did you mean earliest?"),
    ({K + "commit": "on-checkpoints"}, "group-id", "is required if commit is on-checkpoints"),
    ({K + "commit": "periodic"}, "group-id", "is required if commit is periodic"),
    ({K + "commit-interval": "5s"}, "commit-interval", "applies to periodic, but commit is disabled"),
    (
        {K + "group-id": "g", K + "commit-interval": "5s"},
        "commit-interval",
        "applies to periodic, but commit is on-checkpoints",
    ),
    ({K + "group-id": "g", K + "commit": "periodic", K + "commit-interval": 0}, "commit-interval", "zero"),
    ({K + "commit": "disable"}, "commit", "did you mean disabled?"),
    ({K + "format": "xml"}, "format", "must be one of raw, string, json, avro"),
    ({K + "format": {"python": "x"}}, "format.python", "module:function"),
    ({K + "format": "json"}, "schema", "is required for format json"),
    ({K + "format": "avro"}, "schema", "is required for format avro"),
    (
        {K + "format": "debezium"},
        "format",
        "must be one of raw, string, json, avro, debezium-json, canal-json",
    ),
    ({K + "format": "canal-json"}, "schema", "is required for format canal-json"),
    (
        {K + "format": "debezium-json", K + "schema": "id INT", K + "key-column": "id"},
        "key-column",
        "does not apply to format debezium-json",
    ),
    ({K + "format": {"python": "a:b"}}, "schema", "is required for format python"),
    ({K + "schema": "id STRING"}, "schema", "does not apply to format raw"),
    ({K + "format": "string", K + "schema": "id STRING"}, "schema", "does not apply to format string"),
    ({K + "format": "json", K + "schema": "id STRING, _kafka INT"}, "schema", "reserved by Milepost"),
    ({K + "format": "avro", K + "schema": "id STRING"}, "schema", "neither an Avro schema"),
    ({K + "format": "avro", K + "schema": '"string"'}, "schema", "must be an Avro record"),
    ({K + "format": "avro", K + "schema": "nope.avsc"}, "schema", "cannot be read: No such file"),
    ({K + "bad-records": "ignore"}, "bad-records", "must be one of fail, skip"),
    ({K + "bad-records": {"dead-letter": "orders"}}, "bad-records.dead-letter", "circulate for ever"),
    ({K + "max-offsets-per-trigger": 0}, "max-offsets-per-trigger", "must be at least 1"),
    ({K + "max-offsets-per-trigger": True}, "max-offsets-per-trigger", "whole number"),
    ({K + "key-column": "_kafka"}, "key-column", "reserved by Milepost"),
    ({K + "properties": {"group.id": "x"}}, "properties.group.id", "use group-id"),
    (
        {K + "properties": {"enable.auto.commit": False}},
        "properties.enable.auto.commit",
        "belongs to Milepost",
    ),
    ({K + "properties": {"key.deserializer": "x"}}, "properties.key.deserializer", "use format"),
    ({K + "properties": {"auto.offset.reset": "x"}}, "properties.auto.offset.reset", "use start"),
    ({K + "properties": {"bootstrap.servers": "x"}}, "properties.bootstrap.servers", "use bootstrap-servers"),
    (
        {K + "properties": {"config.providers.f.class": "x"}},
        "properties.config.providers.f.class",
        "${env:NAME}",
    ),
    ({K + "properties": {"kafka.client.id": "x"}}, "properties.kafka.client.id", "without Spark's prefix"),
    ({K + "properties": {"client.id": None}}, "properties.client.id", "has no value"),
    ({K + "properties": {"isolation.level": "x"}}, "properties.isolation.level", "must be read_committed"),
    (
        {K + "properties": {"sasl.jaas.config": "com.sun.security.auth.module.JndiLoginModule required;"}},
        "properties.sasl.jaas.config",
        "can run arbitrary code",
    ),
    ({K + "properties": "x"}, "properties", "must be a mapping"),
    ({K + "start-fallbck": "none"}, "start-fallbck", "did you mean start-fallback?"),
]


@pytest.mark.parametrize(("changes", "path", "sentence"), REFUSED)
def test_refused(faults, changes: dict[str, Any], path: str, sentence: str):
    found = faults(changes)
    assert list(found) == [f"source.kafka.{path}"]
    assert sentence in found[f"source.kafka.{path}"]


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("(", "not a regular expression"),
        (".*", "internal topic __consumer_offsets"),
        ("", "must not be empty"),
    ],
)
def test_wrong_pattern_is_refused(faults, removed, pattern: str, sentence: str):
    found = faults({K + "topics": removed, K + "topic-pattern": pattern})
    assert sentence in found["source.kafka.topic-pattern"]


@pytest.mark.parametrize("pattern", ["orders-.*", "(?!__).*", r"\p{Alpha}+", "[a-z&&[^x]]+"])
def test_pattern_is_accepted(faults, removed, pattern: str):
    changes = {K + "topics": removed, K + "topic-pattern": pattern, "sink/hbase/version": "timestamp"}
    assert faults(changes) == {}


def test_no_topics_at_all(faults, removed):
    assert faults({K + "topics": removed}) == {
        "source.kafka.topics": "is required unless topic-pattern is set"
    }


def test_pattern_that_matches_the_dead_letter_topic(faults, removed):
    changes = {
        K + "topics": removed,
        K + "topic-pattern": "orders.*",
        K + "bad-records": {"dead-letter": "orders-dead"},
        "sink/hbase/version": "timestamp",
    }
    assert list(faults(changes)) == ["source.kafka.bad-records.dead-letter"]


def test_defaults():
    source = KafkaSource(bootstrap_servers="a:1", topics="orders")
    assert (source.start, source.start_fallback, source.stop, source.commit) == (
        "earliest",
        "earliest",
        "never",
        "disabled",
    )
    assert (source.format, source.bad_records, source.watermark.strategy) == ("raw", "fail", "none")


def test_start_is_group_offsets_where_there_is_a_group():
    assert KafkaSource(bootstrap_servers="a:1", topics="orders", group_id="g").start == "group-offsets"
    assert (
        KafkaSource(bootstrap_servers="a:1", topics="orders", group_id="g", start="latest").start == "latest"
    )
    assert KafkaSource(bootstrap_servers="a:1", topics="orders", group_id=None).start == "earliest"


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ({}, "disabled"),
        ({"group_id": "g"}, "on-checkpoints"),
        ({"group_id": "g", "commit": "periodic"}, "periodic"),
        ({"group_id": "g", "commit": "disabled"}, "disabled"),
    ],
)
def test_offsets_are_committed_where_there_is_a_group(given: dict[str, str], mode: str):
    source = KafkaSource(bootstrap_servers="a:1", topics="orders", **given)
    assert (source.commit, source.commit_interval) == (mode, timedelta(seconds=5))


@pytest.mark.parametrize("commit", ["on-checkpoints", "periodic", "disabled"])
def test_printed_commit_mode_can_be_read_again(job, commit: str):
    config = parse_config(job({K + "group-id": "g", K + "commit": commit}))
    assert parse_config(config.redacted()) == config


def test_client_properties_read_only_what_is_committed():
    source = KafkaSource(
        bootstrap_servers=["a:1", "b:2"], topics="orders", properties={"fetch.min.bytes": 5, "x": True}
    )
    assert source.client_properties == {
        "isolation.level": "read_committed",
        "fetch.min.bytes": "5",
        "x": "true",
        "bootstrap.servers": "a:1,b:2",
    }


def test_isolation_level_can_be_chosen():
    source = KafkaSource(
        bootstrap_servers="a:1", topics="orders", properties={"isolation.level": "read_uncommitted"}
    )
    assert source.client_properties["isolation.level"] == "read_uncommitted"


def test_watermark_none_in_both_spellings(faults):
    assert faults({K + "watermark": {"strategy": "none"}}) == {}
    assert faults({K + "watermark": "none"}) == {}


def test_avro_schema_as_text_and_as_file(job, tmp_path: Path):
    (tmp_path / "order.avsc").write_text(AVRO)
    for schema in (AVRO, str(tmp_path / "order.avsc")):
        config = parse_config(job({K + "format": "avro", K + "schema": schema}))
        assert config.views["source"].record_schema == AVRO


def test_python_has_the_names_of_the_file():
    source = KafkaSource(bootstrap_servers="a:1", topics=["t"], format="json", schema="id STRING")
    assert source.record_schema == "id STRING"
    with pytest.raises(ConfigError, match="start_fallback: must be one of"):
        KafkaSource(bootstrap_servers="a:1", topics=["t"], start_fallback="x")


def test_sensitive_properties_are_never_shown():
    source = KafkaSource(bootstrap_servers="a:1", topics="t", properties={"ssl.key.password": "hunter2"})
    assert source.client_properties["ssl.key.password"] == "hunter2"
    assert "hunter2" not in f"{source!r} {source} {source.redacted()} {source.client_properties!r}"
