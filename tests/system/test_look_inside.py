"""Looking into a job with a real Kafka and a real HBase: offsets while it runs and after, lineage both ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.system.lab import Lab, Sent, numbered, wait_until
from typer.testing import CliRunner

from milepost.cli import app
from milepost.config import Config, load_config
from milepost.inspect.coverage import Certainty
from milepost.inspect.lineage import State
from milepost.inspect.lineage_setup import lineage_of

DAY_MS = 86_400_000


def say(*arguments: object) -> Any:
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def write(lab: Lab, topic: str, **sections: Any) -> Path:
    file = lab.folder("look") / "pipeline.yaml"
    source = {"format": "json", "schema": "id STRING, n INT"} | sections.pop("source", {})
    sink = {"columns": {"d": ["n"]}, "encoding": "string"} | sections.pop("sink", {})
    document = lab.document(topic, lab.table("d"), source=source, sink=sink, **sections)
    file.write_text(yaml.safe_dump(document))
    return file


def update(number: int, value: int, partition: int) -> Sent:
    return Sent(json.dumps({"id": f"k{number}", "n": value}).encode(), b"k", partition)


def test_a_running_job_is_looked_into_and_so_is_what_it_leaves(lab: Lab) -> None:
    topic = lab.topic(*numbered(10, partitions=2), partitions=2, retention_ms=str(DAY_MS))
    file = write(lab, topic, source={"group-id": lab.name("group"), "stop": "never"})
    config = load_config(file)
    with lab.running(config) as running:

        def read(records: int) -> bool:
            return sum((running.job.progress().position.get(topic) or {}).values()) == records

        wait_until(lambda: read(10), "the records are in a checkpoint")
        # The newer value and the delete are checkpoints of their own.
        lab.produce(topic, update(0, 100, 0), Sent(None, b"k1", 1))
        wait_until(lambda: read(12), "the changes are in a checkpoint")
        wait_until(lambda: say("offsets", file)["partitions"][0]["group"] == 6, "the group has them")
        found = say("offsets", file, "--check")
        assert found["restorable"]
        for each in found["partitions"]:
            assert (each["checkpoint"], each["group"], each["drift"], each["lag"]) == (6, 6, 0, 0)
            assert (each["standing"], each["left-ms"]) == ("CAUGHT_UP", DAY_MS)
        newest = say("checkpoint", "list", file)["checkpoints"][0]
        assert newest["status"] == "COMPLETED"
        assert say("checkpoint", "show", file, newest["id"])["sources"] == [{topic: {"0": 6, "1": 6}}]
    after_it(lab, file, topic)
    lineage_of_its_rows(lab, config, topic)
    unrestorable(lab, file, topic)


def after_it(lab: Lab, file: Path, topic: str) -> None:
    """Records that nobody reads any more can go; how long they stay follows from their own time."""
    lab.produce(topic, *numbered(1, first=20))
    unread = say("offsets", file)["partitions"][0]
    assert (unread["lag"], unread["standing"]) == (1, "RESTORABLE")
    assert DAY_MS - 60_000 < unread["left-ms"] <= DAY_MS


def lineage_of_its_rows(lab: Lab, config: Config, topic: str) -> None:
    trail = lineage_of(config, lab.spark)
    newer, older = trail.of_row(b"k0")
    assert (newer.value, newer.state, older.value, older.state) == (
        b"100",
        State.VISIBLE,
        b"0",
        State.COVERED,
    )
    # Both partitions have a record at these offsets: only reading them tells which one it was.
    assert [(o.place[:3], o.is_proved) for o in newer.origins] == [((topic, 0, 5), True)]
    assert [(o.place[:3], o.is_proved) for o in older.origins] == [((topic, 0, 0), True)]
    assert newer.origins[0].coverage.certainty is Certainty.EXACT
    assert newer.origins[0].coverage.checkpoint_id != older.origins[0].coverage.checkpoint_id
    (row,) = trail.of_record((topic, 0, 0)).rows
    assert (row.row, row.columns[0].state) == (b"k0", State.COVERED)
    assert row.columns[0].by == newer
    (deleted,) = trail.of_record((topic, 1, 0)).rows
    assert (deleted.row, deleted.columns[0].state) == (b"k1", State.DELETED)
    assert deleted.columns[0].by is not None
    assert deleted.columns[0].by.origins[0].place[:3] == (topic, 1, 5)
    (tombstone,) = trail.of_record((topic, 1, 5)).rows
    assert (tombstone.is_delete, tombstone.columns[0].state) == (True, State.MARKER)
    waiting = trail.of_record((topic, 0, 6))
    assert waiting.coverage.certainty is Certainty.NOT_YET
    assert waiting.rows[0].columns[0].state is State.MISSING


def unrestorable(lab: Lab, file: Path, topic: str) -> None:
    admin = AdminClient(lab.kafka)
    for answer in admin.delete_records([TopicPartition(topic, 0, 7)]).values():
        answer.result(timeout=30)
    result = CliRunner().invoke(app, ["offsets", str(file), "--check"])
    assert result.exit_code == 4, result.output
    assert f"UNRESTORABLE: {topic}-0: 1 offsets after it were deleted." in result.stdout
    admin.delete_topics([topic])[topic].result(timeout=30)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone")
    gone = say("offsets", file)
    assert [each["note"] for each in gone["partitions"]] == ["the topic does not exist"] * 2


@pytest.mark.parametrize("transform", [True, False], ids=["transform", "no-transform"])
def test_what_a_transform_hides_is_said(lab: Lab, transform: bool) -> None:
    topic = lab.topic(update(0, 1, 0), update(1, 2, 1), partitions=2, cleanup_policy="compact")
    sql = {"sql": "SELECT concat('x-', id) AS id, n, _kafka FROM source"} if transform else {}
    file = write(lab, topic, **sql)
    lab.finish(load_config(file))
    trail = lineage_of(load_config(file), lab.spark)
    row = b"x-k0" if transform else b"k0"
    (cell,) = trail.of_row(row)
    assert [origin.place[:2] for origin in cell.origins] == [(topic, 0), (topic, 1)][: 2 if transform else 1]
    assert [origin.is_proved for origin in cell.origins] == ([False, False] if transform else [True])
    rows = [each.row for each in trail.of_record((topic, 0, 0)).rows]
    assert rows == ([b"x-k0", b"x-k1"] if transform else [b"k0"])
    abort_a_transaction(lab, topic)
    lag = say("offsets", file)["partitions"][0]
    assert (lag["standing"], lag["left-ms"], lag["lag"] > 0) == ("RESTORABLE", None, True)


def abort_a_transaction(lab: Lab, topic: str) -> None:
    """Leave offsets behind the checkpoint that are no records."""
    producer = Producer({**lab.kafka, "transactional.id": lab.name("aborted")})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, value=b"{}", key=b"k", partition=0)
    producer.flush(30)
    producer.abort_transaction(30)
