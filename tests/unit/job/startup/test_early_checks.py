"""What is refused before Spark starts, by every way to start a job; the sentences are those of the start itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from milepost import api
from milepost.checkpoint.lease.lease import Lease
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store
from milepost.cli.run.check import check
from milepost.cli.run.run import run
from milepost.config import Config, HBaseSink, load_config
from milepost.engine import BareJvm
from milepost.errors import LeaseHeldError, MilepostError, NotReachableError
from milepost.job.spark import session
from milepost.job.spec import StartOptions
from milepost.job.startup import early_checks
from milepost.sink.hbase import HBaseStage
from milepost.sink.table import TableFacts
from milepost.source.topic_facts import KafkaFacts, TopicFacts

EXISTING = frozenset({"orders"})
HBASE = {"quorum": "z:1", "table": "t", "row-key": ["id"], "columns": {"d": ["v"]}}


class SparkStarted(BaseException):
    """Not an error that anything would catch."""


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker with one topic, an HBase with one table; a Spark whose start is seen."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")

    def topics(source: Any) -> KafkaFacts:
        wanted = EXISTING.intersection(source.topics or ())
        return KafkaFacts({name: TopicFacts("", {}) for name in wanted}, EXISTING)

    def start(*_: Any) -> None:
        raise SparkStarted

    def table(sink: HBaseSink) -> TableFacts | None:
        if sink.table == "t":
            return None
        return TableFacts(exists=False, namespace_exists=":" not in sink.table)

    monkeypatch.setattr(early_checks, "existing_topics", topics)
    monkeypatch.setattr(early_checks, "missing_table", table)
    monkeypatch.setattr(session, "open_session", start)


def pipeline(folder: Path, **changes: Any) -> Path:
    document: dict[str, Any] = {
        "name": "early",
        "source": {"kafka": {"bootstrap-servers": "b:1", "topics": ["orders"]}},
        "sink": {"hbase": dict(HBASE)},
        "checkpointing": {"dir": "data"},
        "rest": {"bind": "127.0.0.1:0"},
    }
    for path, value in changes.items():
        *sections, last = path.split("__")
        at = document
        for section in sections:
            at = at.setdefault(section, {})
        at[last.replace("_", "-")] = value
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


def damage(folder: Path) -> None:
    (folder / "data" / names.OFFSETS).mkdir(parents=True)
    (folder / "data" / names.OFFSETS / "0").write_text("v1\n")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "topic": ({"source__kafka__topics": ["order"]}, "Topic 'order' does not exist"),
    "transform": ({"transform": {"python": "no_such_module:f"}}, "transform.python: module 'no_such_module'"),
    "function": ({"transform": {"python": "early_module:g"}}, "'early_module' has no function 'g'"),
    "format": (
        {"source__kafka__format": {"python": "no_such_module:f"}, "source__kafka__schema": "id STRING"},
        "source.kafka.format.python: module 'no_such_module'",
    ),
    "sink": ({"sink": {"python": "no_such_module:Class"}}, "sink.python: module 'no_such_module'"),
    "participant": (
        {"participants": [["early_module:audit"]]},
        "participants[0]: 'early_module' has no 'audit'",
    ),
    "table": ({"sink__hbase__table": "u"}, "Table 'u' does not exist"),
    "namespace": (
        {"sink__hbase__table": "no:u", "sink__hbase__create_table": {}},
        "there is no namespace 'no'",
    ),
    "directory": ({"checkpointing__dir": "file"}, "is a file"),
    "damage": ({}, "data/metadata is missing"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("command", [run, check])
def test_a_command_refuses_before_spark(command: Callable[..., None], case: str, tmp_path: Path) -> None:
    changes, sentence = REFUSED[case]
    (tmp_path / "early_module.py").write_text("def f(rows):\n    return rows\n")
    (tmp_path / "file").write_text("")
    if case == "damage":
        damage(tmp_path)
    with pytest.raises(MilepostError) as refused:
        command(pipeline(tmp_path, **changes))
    assert sentence in refused.value.what
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("command", [run, check])
def test_what_is_right_starts_spark(command: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "early_other.py").write_text("from json import *\nraise RuntimeError('needs Spark')\n")
    with pytest.raises(SparkStarted):
        command(pipeline(tmp_path, transform={"python": "early_other:anything"}))


@pytest.mark.parametrize(
    "changes",
    [
        {"sink__hbase__create_table": {"regions": 4}},
        {"spark__conf": {"spark.driver.extraJavaOptions": "-Dzookeeper.client.secure=true"}},
    ],
    ids=["table to be created", "settings of the JVM"],
)
def test_a_missing_table_is_left_to_the_start(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SparkStarted):
        check(pipeline(tmp_path, sink__hbase__table="u", **changes))


def parts(config: Config) -> dict[str, Any]:
    return {"source": config.source.kafka, "sink": config.sink.kind, "checkpointing": config.checkpointing}  # type: ignore[union-attr]


def test_python_refuses_in_the_same_order(tmp_path: Path) -> None:
    config = load_config(pipeline(tmp_path, source__kafka__topics=["order"]))
    with pytest.raises(MilepostError, match="Topic 'order' does not exist"):
        api.Pipeline("early", **parts(config)).start()
    damage(tmp_path)
    with pytest.raises(MilepostError, match="metadata is missing"):
        api.Pipeline("early", **parts(config)).start()
    with pytest.raises(MilepostError, match="Topic 'order' does not exist"):
        api.Pipeline("early", **parts(config)).start(fresh=True)


def test_a_directory_that_another_driver_runs_on_is_refused_at_a_start_and_not_by_check(
    tmp_path: Path,
) -> None:
    file = pipeline(tmp_path)
    config = load_config(file)
    lease = Lease.acquire(Store.at(config.checkpointing.dir), "theirs")
    try:
        with pytest.raises(LeaseHeldError, match="job theirs"):
            run(file)
        with pytest.raises(LeaseHeldError, match="job theirs"):
            api.Pipeline("early", **parts(config)).start()
        with pytest.raises(SparkStarted):
            check(file)
    finally:
        lease.release()
    with pytest.raises(SparkStarted):
        run(file)


def test_damage_is_left_to_a_start_that_falls_back_or_discards_state(tmp_path: Path) -> None:
    damage(tmp_path)
    fall_back = load_config(pipeline(tmp_path, checkpointing__on_damage="fall-back"))
    early_checks.require_startable(fall_back, tmp_path, StartOptions())
    early_checks.require_startable(load_config(pipeline(tmp_path)), tmp_path, StartOptions(fresh=True))


def test_several_sources_are_named_as_they_are_written(tmp_path: Path) -> None:
    kafka = {"bootstrap-servers": "b:1", "group-id": "g"}
    file = pipeline(tmp_path)
    document = yaml.safe_load(file.read_text())
    del document["source"]
    document["sources"] = {
        "a": {"kafka": kafka | {"topics": ["orders"]}},
        "b": {"kafka": kafka | {"topics": ["missing"]}},
    }
    document["sink"]["hbase"] = HBASE | {"version": "timestamp"}
    document["transform"] = {"sql": "SELECT * FROM a UNION ALL SELECT * FROM b"}
    file.write_text(yaml.safe_dump(document))
    with pytest.raises(MilepostError, match="Topic 'missing' does not exist") as refused:
        early_checks.require_startable(load_config(file), tmp_path, StartOptions())
    assert "sources.b.kafka.topics" in refused.value.fix


def test_an_hbase_that_does_not_answer_is_left_to_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[timedelta] = []

    def inspect(stage: HBaseStage, _jvm: BareJvm) -> HBaseStage:
        asked.append(stage.sink.connect_timeout)
        raise NotReachableError("HBase at z:1 does not answer")

    monkeypatch.setattr(HBaseStage, "inspect", inspect)
    early_checks.make_table_check(load_config(pipeline(tmp_path), []))(BareJvm(None))
    assert asked == [timedelta(seconds=5)], "the start itself asks with all its patience"
