"""`milepost run` and `milepost check` as a user runs them: exit codes, words, what is left behind, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
import yaml
from tests.system.lab import Lab, Sent, no_trace, wait_until

from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import LocalStore

PATIENCE_S = 120
SCHEMA = "id STRING, v STRING"


def record(key: str) -> Sent:
    return Sent(json.dumps({"id": key, "v": key}).encode(), key.encode())


class Place:
    """A folder with a pipeline file, as a user has one; its path has a space in it."""

    def __init__(self, lab: Lab, topic: str, table: str, **changes: Any) -> None:
        self.lab = lab
        self.folder = lab.folder("a place ")
        self.checkpoint = self.folder / "checkpoint"
        self.file = self.folder / "pipeline.yaml"
        self.document = lab.document(
            topic,
            table,
            source={"format": "json", "schema": SCHEMA} | changes.pop("source", {}),
            sink={"columns": {"d": ["v"]}},
            checkpointing={"dir": self.checkpoint.as_uri(), "interval": "500ms"},
            **changes,
        )
        self.document["spark"] = {"master": "local[2]"}
        self.file.write_text(yaml.safe_dump(self.document))

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "milepost", *words]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "COLUMNS": "200"}

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )

    def left_behind(self) -> list[str]:
        """Return the files under the checkpoint directory."""
        files = (path for path in self.checkpoint.rglob("*") if path.is_file())
        return sorted(path.relative_to(self.checkpoint).as_posix() for path in files)


@pytest.fixture(scope="module")
def topic(lab: Lab) -> str:
    return lab.topic(record("a"), record("b"))


def assert_refused(place: Place, result: subprocess.CompletedProcess[str], *words: str) -> None:
    assert result.returncode == 2, result.stdout + result.stderr
    assert result.stderr.startswith("Error: ")
    for word in ("Fix: ", *words):
        assert word in result.stderr
    assert no_trace(result.stderr + result.stdout)
    assert "Exception" not in result.stderr
    assert len(result.stderr.splitlines()) <= 4


def test_check_prints_the_plan_and_starts_nothing(lab: Lab, topic: str) -> None:
    place = Place(lab, topic, lab.table("d"))
    result = place.call("check", str(place.file))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "a fresh start" in result.stdout
    assert topic in result.stdout
    assert "OK: this pipeline can start." in result.stdout
    assert place.left_behind() == ["milepost/driver.log"]


def test_a_table_that_is_not_there_is_refused(lab: Lab, topic: str) -> None:
    place = Place(lab, topic, "no-such-table")
    # Named as one does it in the folder itself.
    assert_refused(place, place.call("run", place.file.name), "Table 'no-such-table' does not exist")
    # Without a JVM, unless HBase was too slow to answer before one is started.
    assert set(place.left_behind()) <= {"milepost/driver.log"}


def test_a_mistake_in_sql_is_refused_without_sparks_noise(lab: Lab, topic: str) -> None:
    place = Place(lab, topic, lab.table("d"), sql="SELECT nope AS id FROM source")
    assert_refused(place, place.call("run", str(place.file)), "transform.sql", "`nope`", "Why: ")
    assert place.left_behind() == ["milepost/driver.log"]


def test_a_module_that_is_not_there_is_refused(lab: Lab, topic: str) -> None:
    place = Place(lab, topic, lab.table("d"))
    result = place.call("run", str(place.file), "--set", "transform.python=no_such_module:clean")
    assert_refused(place, result, "module 'no_such_module' cannot be imported")
    assert place.left_behind() == [], "no JVM has started"


def test_a_fault_in_the_file_starts_nothing_at_all(lab: Lab, topic: str) -> None:
    place = Place(lab, topic, "t", source={"topics": ["__consumer_offsets"], "stopp": "latest"})
    result = place.call("run", str(place.file))
    assert result.returncode == 2
    assert "__consumer_offsets" in result.stderr
    assert "stopp" in result.stderr
    assert no_trace(result.stderr)
    assert not place.checkpoint.exists()


def test_a_bad_record_ends_the_run_with_a_sentence(lab: Lab) -> None:
    topic = lab.topic(record("a"), Sent(b"{", b"bad"))
    place = Place(lab, topic, lab.table("d"))
    result = place.call("run", str(place.file))
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"MALFORMED at {topic}-0@1" in result.stderr
    assert "Fix: " in result.stderr
    assert no_trace(result.stderr + result.stdout)
    assert newest_completed(LocalStore(place.checkpoint)) is None


def test_ctrl_c_stops_at_a_boundary_and_the_next_run_goes_on(lab: Lab) -> None:
    topic, table = lab.topic(record("a"), record("b")), lab.table("d")
    place = Place(lab, topic, table, source={"stop": "never"})
    (place.folder / "clean.py").write_text(
        "from pyspark.sql import functions as F\n\n\n"
        "def shout(rows):\n    return rows.withColumn('v', F.udf(loud)('v'))\n\n\n"
        "def loud(text):\n    return text.upper()\n"
    )
    with_function = ("--set", "transform.python=clean:shout")
    command = place.command("run", str(place.file), *with_function)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(  # type: ignore[call-overload]
        command, cwd=place.folder, env=place.environment(), **pipes
    ) as process:
        try:
            wait_until(lambda: lab.hbase.count(table) == 2, "the backlog is in the table", PATIENCE_S)
            lab.produce(topic, record("c"))
            wait_until(lambda: lab.hbase.count(table) == 3, "the next record is in the table", PATIENCE_S)
            # As a terminal does it: the JVM and the Python workers get it too.
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0, out + err
    assert "Stopping at the next boundary" in err
    assert "CANCELED: 3 rows" in out
    assert no_trace(out + err)
    completed = newest_completed(LocalStore(place.checkpoint))
    assert completed is not None
    assert completed.sources[0] == {topic: {0: 3}}
    lab.produce(topic, record("d"))
    result = place.call("run", str(place.file), *with_function, "--set", "source.kafka.stop=latest")
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"from checkpoint {completed.batch_id}" in result.stdout
    assert "FINISHED: 1 rows" in result.stdout
    cells = lab.cells(lab.config(topic, table, sink={"columns": {"d": ["v"]}}))
    assert [(cell[0], cell[3], cell[5]) for cell in cells] == [
        (key.encode(), at, key.upper().encode()) for at, key in enumerate("abcd")
    ]
    assert result.stderr == ""
