"""`milepost run FILE` as a process of its own, with failpoints, and what it leaves on disk."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import yaml
from tests.system.lab import Lab, numbered

from milepost.checkpoint.store.layout import CHECKPOINTS, SEALED, Layout
from milepost.demo.driver import read_position

END_S = 150.0

TALLY = '''
"""A participant that counts its snapshots; what it is told goes to a journal beside this file."""
import json
import pathlib


class Tally:
    name = "tally"

    def initialize_state(self, context):
        self.snapshots = context.state["snapshots"] if context.state else 0
        self.say("initialized", context.checkpoint_id, context.state)

    def snapshot_state(self, context):
        self.snapshots += 1
        return {"snapshots": self.snapshots, "checkpoint": context.checkpoint_id}

    def notify_checkpoint_complete(self, checkpoint_id):
        self.say("completed", checkpoint_id, None)

    def say(self, what, checkpoint_id, state):
        with pathlib.Path(__file__).with_name("journal.jsonl").open("a") as journal:
            journal.write(json.dumps([what, checkpoint_id, state]) + "\\n")
'''


def reached_pipeline(lab: Lab, folder: Path) -> Path:
    """Write a pipeline of ten records that goes on, with a savepoint directory and REST on any free port."""
    document = lab.document(
        lab.topic(*numbered(10)),
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT", "stop": "never"},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={
            "dir": str(folder / "checkpoint"),
            "interval": "1h",
            "timeout": "1h",
            "savepoint-dir": str(folder / "savepoints"),
        },
    )
    document |= {"name": "reached", "rest": {"bind": "127.0.0.1:0"}, "spark": {"master": "local[2]"}}
    return write_pipeline(folder, document)


def write_pipeline(folder: Path, document: dict[str, Any]) -> Path:
    """Write a pipeline's file and the module of its participant beside it."""
    (folder / "tally.py").write_text(TALLY)
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


def printed_address(output: str) -> tuple[str, str]:
    """Return address and token of a job from what `run` has printed into a file: the token lies in another."""
    found = re.search(r"REST interface: (\S+)\nToken: in (\S+)\n", output)
    assert found, output
    return found[1], Path(found[2]).read_text()


class Driver:
    """One `milepost run` in a session of its own; whatever is left of it ends with the block."""

    def __init__(self, file: Path, failpoints: str = "", *arguments: str) -> None:
        self.log = file.with_name("output.log")
        with self.log.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "milepost", "run", str(file), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env={**os.environ, "MILEPOST_FAILPOINTS": failpoints},
                start_new_session=True,
            )

    def __enter__(self) -> Driver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait()

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to driver and JVM."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def interrupt(self) -> None:
        """Ask for a clean stop, as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Wait for the end of the driver, and return its exit code."""
        return self.process.wait(END_S)


class Left(NamedTuple):
    """What a driver has left in its checkpoint directory."""

    begun: bool
    """Spark's offset log has a batch that the commit log has not."""
    sealed: bool
    """A checkpoint is sealed and not yet completed."""
    stored: bool
    """The newest batch of the commit log has its manifest."""


def left(layout: Layout) -> Left:
    """Return what is there now."""
    standing = read_position(layout)
    manifest = layout.root / CHECKPOINTS / f"{standing.completed}.json"
    sealed = layout.root / SEALED
    return Left(
        begun=standing.in_flight is not None,
        sealed=sealed.is_dir() and any(path.suffix == ".json" for path in sealed.iterdir()),
        stored=manifest.is_file(),
    )
