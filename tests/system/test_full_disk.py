"""A directory that is full or read-only is reported in a sentence; a job that meets one resumes when there is room."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.system.disks import SmallDisk, mounted
from tests.system.drivers import Driver, write_pipeline
from tests.system.lab import Lab, no_trace, numbered, visible, wait_until

from milepost.checkpoint.store.layout import Layout
from milepost.config import Config
from milepost.demo.driver import read_position
from milepost.errors import SavepointError

FULL = "No space left on device"
RETRY = {"strategy": "fixed-delay", "attempts": 1000, "delay": "500ms"}
EXECUTIONS = ["micro-batch", "real-time"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with mounted(tmp_path / "disk") as small:
        yield small


def document(lab: Lab, topic: str, table: str, directory: Path, **checkpointing: Any) -> dict[str, Any]:
    made = lab.document(
        topic,
        table,
        source={"format": "json", "schema": "id STRING, n INT", "stop": "never"},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={"dir": str(directory), "interval": "500ms", **checkpointing},
        restart=RETRY,
    )
    return made | {"name": "disk", "rest": {"bind": "127.0.0.1:0"}, "spark": {"master": "local[2]"}}


def done(directory: Path) -> int:
    return read_position(Layout(directory)).records


@pytest.mark.parametrize("state", ["full", "read-only"])
def test_a_start_says_which_directory_takes_no_file(
    lab: Lab, disk: SmallDisk, tmp_path: Path, state: str
) -> None:
    """Milepost said `OSError: [Errno 28] … This is a bug in Milepost`."""
    directory = disk.root / "checkpoint"
    directory.mkdir()
    file = write_pipeline(tmp_path, document(lab, lab.topic(*numbered(3)), lab.table("d"), directory))
    disk.fill()
    if state == "read-only":
        disk.free()
        disk.make_read_only()
    with Driver(file) as driver:
        code, output = driver.end(), driver.output
    assert str(directory) in output
    assert {"full": "is full", "read-only": "is read-only"}[state] in output
    assert "Fix: " in output
    assert "This is a bug in Milepost" not in output
    assert "Errno" not in output
    assert no_trace(output)
    assert code == {"full": 1, "read-only": 2}[state]


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_disk_that_fills_up_under_a_job_costs_retries_and_no_record(
    lab: Lab, disk: SmallDisk, tmp_path: Path, execution: str
) -> None:
    directory, topic, table = disk.root / "checkpoint", lab.topic(*numbered(5)), lab.table("d")
    content = document(lab, topic, table, directory, execution=execution)
    file = write_pipeline(tmp_path, content)
    with Driver(file) as driver:
        wait_until(lambda: done(directory) == 5, "the first records are done")
        before = len(driver.output)
        disk.fill()
        lab.produce(topic, *numbered(5, first=5))
        wait_until(lambda: driver.output.count("Restarting") >= 3, "three restarts")
        full = driver.output[before:]
        disk.free()
        lab.produce(topic, *numbered(5, first=10))
        wait_until(lambda: done(directory) == 15, "all records are done")
        driver.interrupt()
        assert driver.end() == 0
        output = driver.output
    assert no_trace(output), output
    assert "Errno" not in output
    told = [line for line in full.splitlines() if " rows/s " not in line]
    assert all(f"{disk.root}/checkpoint is full" in line for line in told), full
    # A checkpoint that fails at its very end has a line of its own in the log, beside that of the retry.
    retries = [line for line in told if "Restarting" in line]
    assert all(" WARNING milepost.checkpoint: " in line for line in told if line not in retries), full
    assert len(told) <= 2 * len(retries), full
    left = Config(**content)
    assert {int(row[b"n"]) for row in visible(lab.cells(left)).values()} == set(range(15))


def test_a_full_directory_of_savepoints_fails_the_savepoint_alone(lab: Lab, disk: SmallDisk) -> None:
    savepoints = disk.root / "savepoints"
    savepoints.mkdir()
    topic = lab.topic(*numbered(5))
    config = lab.numbers(topic, source={"stop": "never"}, checkpointing={"interval": "200ms"})
    with lab.running(config) as running:
        wait_until(lambda: done(Path(config.checkpointing.dir)) == 5, "the first records are done")
        disk.fill()
        with pytest.raises(SavepointError) as refused:
            running.pipeline.savepoint(str(savepoints), timeout=60)
        disk.free()
        savepoint = running.pipeline.savepoint(str(savepoints), timeout=60)
        lab.produce(topic, *numbered(5, first=5))
        wait_until(lambda: done(Path(config.checkpointing.dir)) == 10, "the job continues")
        assert running.job.restarts == 0
    message = str(refused.value)
    assert re.search(rf"{re.escape(str(savepoints))}\S* is full", message), message
    assert "Errno" not in message
    assert Path(savepoint.path).is_dir()
