"""Refusals that need no Spark come from a real broker and a real HBase before Spark starts: no JVM, within seconds."""

from __future__ import annotations

import resource
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from tests.system.drivers import write_pipeline

from milepost.checkpoint.store import layout as names
from milepost.services import Endpoints

PROCESSOR_S = 3.0
"""Python and its imports; the start of Spark alone takes more, on as quick a machine."""

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "table": ({}, "Table 'early-missing' does not exist"),
    "namespace": ({}, "Table 'no_such:early' does not exist: there is no namespace 'no_such'"),
    "topic": ({"topics": ["no-such-topic"]}, "Topic 'no-such-topic' does not exist"),
    "pattern": ({"topics": None, "topic-pattern": "no-such-.*"}, "No topic matches the pattern"),
    "module": ({"format": {"python": "no_such_module:decode"}}, "module 'no_such_module' cannot be imported"),
    "damage": ({}, "metadata is missing"),
}


TABLES = {"table": "early-missing", "namespace": "no_such:early"}


@pytest.fixture(scope="module")
def topic(services: Endpoints) -> str:
    name = f"early-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": services.bootstrap_servers})
    admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])[name].result(timeout=60)
    return name


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize("case", CASES)
def test_a_refusal_does_not_wait_for_spark(
    services: Endpoints, topic: str, tmp_path: Path, case: str, command: str
) -> None:
    changes, sentence = CASES[case]
    kafka = {"bootstrap-servers": services.bootstrap_servers, "topics": [topic], "format": "json"}
    kafka |= {"schema": "id STRING"} | changes
    hbase = {
        "quorum": services.quorum,
        "table": TABLES.get(case, "early"),
        "row-key": ["id"],
        "columns": {"d": ["id"]},
    }
    document = {
        "name": "early",
        "source": {"kafka": {key: value for key, value in kafka.items() if value is not None}},
        "sink": {"hbase": hbase | {"version": "timestamp"}},
        "checkpointing": {"dir": "data"},
        "rest": {"bind": "127.0.0.1:0"},
    }
    file = write_pipeline(tmp_path, document)
    if case == "damage":
        (tmp_path / "data" / names.OFFSETS).mkdir(parents=True)
        (tmp_path / "data" / names.OFFSETS / "0").write_text("v1\n")
    before = spent()
    done = subprocess.run(
        [sys.executable, "-m", "milepost", command, str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "data" / names.DRIVER_LOG).exists(), "no JVM has begun a log"
    assert spent() - before < PROCESSOR_S


def spent() -> float:
    """Return the processor time of all children that have ended: other programs do not slow it down."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
