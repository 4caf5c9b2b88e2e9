"""A checkpoint directory is Spark's own: plain Spark goes on from it, and Milepost goes on from that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.system import plain_spark
from tests.system.lab import Lab, Sent, visible

from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config
from milepost.demo.driver import read_position
from milepost.job.spark.session import spark_jars
from milepost.job.status import JobStatus

SCHEMA = "id STRING, n INT"
KEYS = 5
PLAIN_JARS = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2")


def records(kind: str, numbers: range) -> list[Sent]:
    """Return records of few keys for an aggregate, and of a key each where every record is a row."""
    keys = KEYS if kind == "stateful" else 10_000
    return [Sent(json.dumps({"id": f"k{n % keys}", "n": n}).encode(), b"k", partition=n % 2) for n in numbers]


def totals(numbers: range) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for number in numbers:
        sums[f"k{number % KEYS}"] += number
    return dict(sums)


def table_of(lab: Lab, config: Config) -> dict[str, int]:
    return {row.decode(): int(columns[b"n"]) for row, columns in visible(lab.cells(config)).items()}


def run_to_an_idle_checkpoint(lab: Lab, config: Config) -> Layout:
    """Run the job to the end of its topic, take a checkpoint where nothing is new, and stop it."""
    running = lab.start(config)
    layout = Layout(Path(config.checkpointing.dir))
    boundary = running.trigger_checkpoint().result(60)
    for _ in range(2):  # every other one that repeats the position has the mark
        if not ends_with_a_blank(layout):
            boundary = running.trigger_checkpoint().result(60)
    running.cancel()
    assert running.wait() is JobStatus.CANCELED
    standing = read_position(layout)
    assert (standing.completed, standing.in_flight) == (boundary.checkpoint_id, None)
    return layout


def ends_with_a_blank(layout: Layout) -> bool:
    """Return whether the newest entry of the offset log repeats the one before it, marked by a blank."""
    return (layout.offsets / str(read_position(layout).completed)).read_text().endswith("} ")


def plain(lab: Lab, kind: str, topic: str, layout: Layout, folder: Path) -> list[dict[str, Any]]:
    """Let plain Spark go on to the topic's end, and return the rows that it was given."""
    jars = [str(jar) for jar in spark_jars() if jar.name.startswith(PLAIN_JARS)]
    assert len(jars) == len(PLAIN_JARS)
    output = folder / "rows.jsonl"
    output.touch()
    servers = lab.services.bootstrap_servers
    script = Path(plain_spark.__file__)
    run = subprocess.run(
        [sys.executable, str(script), kind, servers, topic, layout.location, str(output), ",".join(jars)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return [json.loads(line) for line in output.read_text().splitlines()]


def config_of(lab: Lab, topic: str, kind: str, table: str, directory: Path, stop: str) -> Config:
    stateful = kind == "stateful"
    return lab.config(
        topic,
        table,
        source={"format": "json", "schema": SCHEMA, "stop": stop},
        sink={
            "columns": {"d": ["n"]},
            "encoding": "string",
            "version": "checkpoint" if stateful else "offset",
        },
        checkpointing={"dir": str(directory), "interval": "60s" if stop == "never" else "0s"},
        sql="SELECT id, sum(n) AS n FROM source GROUP BY id" if stateful else None,
    )


@pytest.mark.parametrize("kind", ["stateless", "stateful"])
def test_plain_spark_goes_on_and_milepost_takes_over_again(lab: Lab, kind: str, tmp_path: Path) -> None:
    first, second, third = range(0, 30), range(30, 70), range(70, 90)
    topic, table, directory = (
        lab.topic(*records(kind, first), partitions=2),
        lab.table("d"),
        lab.folder("checkpoint"),
    )
    layout = run_to_an_idle_checkpoint(lab, config_of(lab, topic, kind, table, directory, "never"))
    assert ends_with_a_blank(layout)
    before = read_position(layout)
    assert before.completed is not None
    assert before.records == len(first)

    lab.produce(topic, *records(kind, second))
    rows = plain(lab, kind, topic, layout, tmp_path)
    assert {row["batch"] for row in rows} == {before.completed + 1}
    if kind == "stateless":
        assert sorted(row["n"] for row in rows) == list(second)
    else:
        assert {row["id"]: row["n"] for row in rows} == totals(range(70))
    after = read_position(layout)
    assert (after.records, after.in_flight) == (70, None)

    lab.produce(topic, *records(kind, third))
    again = config_of(lab, topic, kind, table, directory, "latest")
    progress = lab.finish(again)
    assert progress.checkpoint_id == (after.completed or 0) + 1
    if kind == "stateless":
        assert progress.rows == len(third)
        found = {int(cell[5]) for cell in lab.cells(again)}
        assert found == {*first, *third}, "what plain Spark has read is not read again"
    else:
        assert table_of(lab, again) == totals(range(90))
    require_manifests(layout, by_spark=after.completed or 0)


def require_manifests(layout: Layout, by_spark: int) -> None:
    """The batch of plain Spark is a checkpoint that no driver of ours has owned."""
    files = CheckpointFiles(LocalStore(layout.root))
    stored = {each: files.get(each) for each in files.ids()}
    ours = {each for each, checkpoint in stored.items() if checkpoint and checkpoint.job_id}
    assert by_spark in stored
    assert by_spark not in ours
    assert max(stored) in ours
