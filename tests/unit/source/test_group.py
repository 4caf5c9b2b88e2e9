from __future__ import annotations

import json
from typing import Any

import pytest

from milepost.source import group
from milepost.source.group import Answer, Failure, FailureKind, KafkaGroup, parse_answer


def test_an_answer_has_positions_and_failures():
    document = {
        "offsets": {"t": {"0": 7, "1": None}},
        "topic-ids": {"t": {"0": "qX4"}},
        "errors": {"u": {"3": {"kind": "members", "message": "not a member"}}},
    }
    assert parse_answer(json.dumps(document)) == Answer(
        {("t", 0): 7, ("t", 1): None},
        {("t", 0): "qX4"},
        {("u", 3): Failure(FailureKind.MEMBERS, "not a member")},
    )


@pytest.mark.parametrize(
    ("word", "kind"), [(kind.word, kind) for kind in FailureKind] + [("to come", FailureKind.OTHER)]
)
def test_the_engine_says_what_kept_it(word: str, kind: FailureKind):
    document = {"offsets": {}, "topic-ids": {}, "errors": {"t": {"0": {"kind": word, "message": "m"}}}}
    assert parse_answer(json.dumps(document)).failures == {("t", 0): Failure(kind, "m")}


def test_each_kind_says_what_to_do_where_something_can_be_done():
    assert [kind for kind in FailureKind if not kind.why] == []
    assert [kind for kind in FailureKind if not kind.fix] == [FailureKind.OTHER]


class Engine:
    """Stands for the Java object: keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    def read(self, question: str) -> str:
        self.asked.append(("read", json.loads(question)))
        return '{"offsets": {"t": {"0": 3}}, "topic-ids": {}, "errors": {}}'

    def commit(self, question: str, topic_ids: str) -> str:
        self.asked.append(("commit", (json.loads(question), json.loads(topic_ids))))
        return '{"offsets": {"t": {"0": 5}}, "topic-ids": {}, "errors": {}}'

    def close(self) -> None:
        self.asked.append(("close", None))


def test_the_job_s_client_asks_the_engine(monkeypatch: pytest.MonkeyPatch):
    engine, made = Engine(), []

    class Kafka:
        @staticmethod
        def GroupOffsets(*arguments: Any) -> Engine:
            made.append(arguments)
            return engine

    class Jvm:
        io = type(
            "io", (), {"milepost": type("milepost", (), {"kafka": type("kafka", (), {"group": Kafka})})}
        )

    monkeypatch.setattr(group, "jvm", lambda _spark: Jvm)
    monkeypatch.setattr(group, "java_map", lambda _spark, options: dict(options))
    spark: Any = object()
    client = KafkaGroup(spark, {"kafka.bootstrap.servers": "broker:1"}, "g")
    assert client.group == "g"
    assert client.read({("t", 0): 0}) == Answer({("t", 0): 3})
    assert client.commit({("t", 0): 5}, {"t": "qX4"}) == Answer({("t", 0): 5})
    client.close()
    assert made == [({"kafka.bootstrap.servers": "broker:1"}, "g")]
    assert engine.asked == [
        ("read", {"t": {"0": 0}}),
        ("commit", ({"t": {"0": 5}}, {"t": "qX4"})),
        ("close", None),
    ]
