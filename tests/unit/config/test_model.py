"""The whole job: what must hold between its sections, and that it shows no secret (B29)."""

from __future__ import annotations

from typing import Any

import pytest

from milepost.config import Checkpointing, Config, HBaseSink, KafkaSource, parse_config

TWO_TOPICS = {"source/kafka/topics": ["a", "b"]}
REAL_TIME = {"checkpointing/execution": "real-time"}


def to_kafka(**values: str) -> dict[str, Any]:
    return {"kafka": {"bootstrap-servers": "localhost:9092", "topic": "out", **values}}


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"name": ""}, "name", "must not be empty"),
    ({"name": "a b"}, "name", "1 to 64 letters"),
    ({"name": "x" * 65}, "name", "1 to 64 letters"),
    ({"name": "../x"}, "name", "1 to 64 letters"),
    ({"name": 5}, "name", "must be text; put quotes around it"),
    ({"restart": {"strategy": "sometimes"}}, "restart.strategy", "must be one of none"),
    ({"restart": {"strategy": "fixed-delay", "attempts": -1}}, "restart.attempts", "at least 0"),
    ({"sink": {}}, "sink.hbase", "is required, or one of kafka, console, python"),
    ({"sink/console": {}}, "sink.console", "cannot be combined with hbase"),
    ({"sink": {"python": "nope"}}, "sink.python", "must be module:name"),
    ({"sink": {"console": {"rows": 0}}}, "sink.console.rows", "at least 1"),
    (
        {"sink": to_kafka(**{"transaction-timeout": "10m"})},
        "sink.kafka.transaction-timeout",
        "a checkpoint may take 10m",
    ),
    (
        {**REAL_TIME, "sink": to_kafka(), "checkpointing/interval": "5m"},
        "sink.kafka.transaction-timeout",
        "a checkpoint may take 15m",
    ),
    ({"sink": to_kafka(), "checkpointing/on-damage": "fall-back"}, "checkpointing.on-damage", "use fail"),
    (
        {"sink": to_kafka(), "checkpointing/state-backend": "memory"},
        "checkpointing.state-backend",
        "cannot be withdrawn from a topic",
    ),
    ({"sink": to_kafka(topic="orders")}, "sink.kafka.topic", "would circulate for ever"),
    ({"source": {"pulsar": {}}}, "source.pulsar", "is not a known key; valid keys are kafka"),
    ({"transform": {"sql": "SELECT 1", "python": "a:b"}}, "transform.python", "keep one of the two"),
    ({"transform": {}}, "transform.sql", "is required unless python"),
    ({"transform": {"python": "nope"}}, "transform.python", "must be module:function"),
    ({"spark": {"conf": {"spark.jars": "x"}}}, "spark.conf.spark.jars", "belongs to Milepost"),
    (
        {"spark": {"conf": {"spark.sql.streaming.checkpointLocation": "x"}}},
        "spark.conf.spark.sql.streaming.checkpointLocation",
        "use checkpointing.dir",
    ),
    ({"spark": {"conf": {"fs.s3a.x": "y"}}}, "spark.conf.fs.s3a.x", "not a spark.* key"),
    (
        {"sources": {"o": {"kafka": {"bootstrap-servers": "a:1", "topics": "t"}}}},
        "sources",
        "combined with source",
    ),
    ({**TWO_TOPICS}, "sink.hbase.version", "add _kafka.topic to row-key"),
    ({**REAL_TIME, "sink/hbase/version": "checkpoint"}, "sink.hbase.version", "use offset, or execution"),
    (
        {**REAL_TIME, "source/kafka/max-offsets-per-trigger": 5},
        "source.kafka.max-offsets-per-trigger",
        "does not apply to real-time",
    ),
    ({**REAL_TIME, "source/kafka/stop": "latest"}, "source.kafka.stop", "must be never in real-time"),
    (
        {**REAL_TIME, "source/kafka/watermark": {"strategy": "periodic", "column": "t", "delay": "5s"}},
        "source.kafka.watermark",
        "does not apply to real-time",
    ),
    ({"sink/hbase/version": "server-time"}, "sink.hbase.version", "or mode at-least-once"),
    ({"participants": ["audit"]}, "participants[0]", "must be module:name"),
    ({"participants": ["a:B", ["a:B", 5]]}, "participants[1][1]", "must be text"),
    ({"participants": "a:B"}, "participants", "must be a list"),
    ({"chekpointing": {}}, "chekpointing", "did you mean checkpointing?"),
]


@pytest.mark.parametrize(("changes", "path", "sentence"), REFUSED)
def test_refused(faults, changes: dict[str, Any], path: str, sentence: str):
    found = {p: m for p, m in faults(changes).items() if not (p == "source.kafka" and "pulsar" in path)}
    assert list(found) == [path]
    assert sentence in found[path]


@pytest.mark.parametrize(
    "changes",
    [
        {**TWO_TOPICS, "sink/hbase/row-key": ["_kafka.topic", "id"]},
        {**TWO_TOPICS, "sink/hbase/version": "timestamp"},
        {**REAL_TIME},
        {"transform": None},
        {"transform": {"sql": "SELECT * FROM source"}},
        {"transform": {"python": "jobs.orders:clean"}},
        {"restart": {"strategy": "none"}},
        {"participants": ["jobs.audit:Audit", ["jobs:a", "jobs:b"]]},
        {"participants": []},
        {"spark": {"master": "local[2]", "conf": {"spark.sql.shuffle.partitions": 2}}},
    ],
)
def test_accepted(faults, changes: dict[str, Any]):
    assert faults(changes) == {}


@pytest.mark.parametrize("section", ["name", "sink", "checkpointing", "source"])
def test_section_is_required(faults, removed, section: str):
    assert faults({section: removed}) == {section: "is required"}


def test_one_named_source_is_a_view(job, removed):
    source = {"kafka": {"bootstrap-servers": "a:1", "topics": "t"}}
    config = parse_config(job({"source": removed, "sources": {"orders": source}}))
    assert list(config.views) == ["orders"]
    assert config.views["orders"].topics == ("t",)


def test_several_sources_are_each_a_view(job, removed):
    sources = {name: {"kafka": {"bootstrap-servers": "a:1", "topics": name}} for name in ("a", "b")}
    changes = {"source": removed, "sources": sources, "sink/hbase/version": "timestamp"}
    assert {view: kafka.topics for view, kafka in parse_config(job(changes)).views.items()} == {
        "a": ("a",),
        "b": ("b",),
    }


def test_several_sources_are_each_checked(faults, removed):
    good = {"kafka": {"bootstrap-servers": "a:1", "topics": "t"}}
    bad = {"kafka": {"bootstrap-servers": "a", "topics": "u"}}
    also = {"kafka": {"bootstrap-servers": "a:1", "topics": "u"}}
    assert list(faults({"source": removed, "sources": {"a": good, "b": also}})) == ["sink.hbase.version"]
    assert list(faults({"source": removed, "sources": {"a": good, "b": bad}})) == [
        "sources.b.kafka.bootstrap-servers"
    ]
    assert list(faults({"source": removed, "sources": {}})) == ["source"]
    assert list(faults({"source": removed, "sources": {"a b": good}})) == ["sources.a b"]


def test_cross_fault_of_a_named_source_has_its_path(faults, removed):
    source = {"kafka": {"bootstrap-servers": "a:1", "topics": "t", "stop": "latest"}}
    changes = {**REAL_TIME, "source": removed, "sources": {"orders": source}}
    assert list(faults(changes)) == ["sources.orders.kafka.stop"]


@pytest.mark.parametrize(
    ("mode", "written", "version"),
    [
        ("exactly-once", None, "offset"),
        ("at-least-once", None, "server-time"),
        ("at-least-once", "server-time", "server-time"),
        ("at-least-once", "offset", "offset"),
        ("at-least-once", "timestamp", "timestamp"),
    ],
)
def test_version_nobody_chose_follows_the_mode(job, mode: str, written: str | None, version: str):
    chosen = {} if written is None else {"sink/hbase/version": written}
    config = parse_config(job({"checkpointing/mode": mode, **chosen}))
    assert config.sink.hbase.version == version
    assert parse_config(config.redacted()) == config


def test_server_time_needs_no_order_between_topics(faults):
    assert faults({**TWO_TOPICS, "checkpointing/mode": "at-least-once"}) == {}


def test_python_builds_the_same_job(job):
    config = Config(
        name="orders",
        source=KafkaSource(bootstrap_servers="localhost:9092", topics=["orders"]),
        sink=HBaseSink(
            quorum="localhost:2181", table="orders", row_key=["id"], columns={"d": ["customer", "amount"]}
        ),
        checkpointing=Checkpointing(dir="file:///data/orders"),
    )
    assert config == parse_config(job({}))
    assert config.restart.strategy == "exponential-delay"
    assert config.spark.master == "local[*]"


SECRETS = {"PW": "hunter2", "TABLE": "hush_table", "EVERY": "7m", "BROKER": "quiet-host:9092"}
SECRET_JOB = {
    "source/kafka/bootstrap-servers": "${env:BROKER}",
    "source/kafka/properties": {
        "sasl.jaas.config": "Module required username=u password=swordfish;",
        "custom.setting": "x-${env:PW}-y",
        "registry.url": "http://me:open-sesame@host",
    },
    "sink/hbase/table": "${env:TABLE}",
    "sink/hbase/properties": {"hbase.client.keytab.file": "/etc/very-hidden"},
    "checkpointing/interval": "${env:EVERY}",
    "spark/conf": {"spark.hadoop.fs.s3a.secret.key": "abracadabra"},
}
HIDDEN = [
    "hunter2",
    "hush_table",
    "quiet-host",
    "swordfish",
    "open-sesame",
    "very-hidden",
    "abracadabra",
    "420",
]


@pytest.fixture
def secret_config(job, monkeypatch: pytest.MonkeyPatch) -> Config:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    return parse_config(job(SECRET_JOB))


@pytest.mark.parametrize("show", [repr, str, lambda c: str(c.redacted()), lambda c: repr(list(c.secrets()))])
def test_b29_no_view_of_the_job_shows_a_secret(secret_config: Config, show):
    shown = show(secret_config)
    assert "******" in shown
    assert [secret for secret in HIDDEN if secret in shown] == []


def test_b29_no_text_keeps_a_secret(secret_config: Config):
    assert (
        secret_config.redact(f"it failed: {HIDDEN[:-1]} and x-hunter2-y at quiet-host:9092").count("hunter2")
        == 0
    )
    told = secret_config.redact("cannot log in with password=swordfish; at http://me:open-sesame@host")
    assert "open-sesame" not in told
    assert (
        secret_config.redact("Module required username=u password=swordfish; is wrong") == "****** is wrong"
    )


def test_b29_the_values_themselves_are_there(secret_config: Config):
    kafka = secret_config.views["source"]
    assert kafka.properties["custom.setting"] == "x-hunter2-y"
    assert kafka.bootstrap_servers == ("quiet-host:9092",)
    assert secret_config.sink.hbase.table == "hush_table"
    assert secret_config.checkpointing.interval.total_seconds() == 7 * 60


@pytest.mark.parametrize(
    "key",
    [
        "name",
        "source/kafka/start",
        "source/kafka/topics",
        "sink/hbase/salt",
        "sink/hbase/columns",
        "checkpointing/dir",
    ],
)
def test_b29_no_fault_shows_a_secret(job, monkeypatch: pytest.MonkeyPatch, faults, key: str):
    monkeypatch.setenv("PW", "file:hunter2 with spaces")
    found = faults({key: "${env:PW}"})
    assert found
    assert "hunter2" not in str(found)


def test_printed_settings_can_be_read_again(job):
    changes = {
        "source/kafka/start": {"timestamp": "2026-01-01T00:00:00Z"},
        "source/kafka/stop": {"offsets": {"orders": {0: 5}}},
        "sink/hbase/version": {"column": "v"},
        "checkpointing/interval": "1m30s",
    }
    config = parse_config(job(changes))
    assert parse_config(config.redacted()) == config
