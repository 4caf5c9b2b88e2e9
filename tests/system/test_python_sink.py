"""A sink class in Python takes every row, is part of each checkpoint, and comes back with its state."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.system.lab import Lab, no_trace, numbered

from milepost.config import Config
from milepost.job.status import JobStatus

SINK = '''
"""Publishes what a checkpoint brought when it is complete; what it was told is in a journal."""
import json
import pathlib

HERE = pathlib.Path("FOLDER")


class Published:
    def open(self, context):
        self.say("open", context.checkpoint_id)
        self.waiting = list(context.state["waiting"]) if context.state else []
        if context.checkpoint_id is not None:
            self.notify(context.checkpoint_id)

    def invoke(self, row):
        if row.n == 25 and not (HERE / "failed").exists():
            (HERE / "failed").touch()
            raise ValueError("the 26th row is too much")
        assert row._kafka.offset == row.n
        self.waiting.append(row.n)

    def snapshot(self, checkpoint_id):
        return {"waiting": self.waiting}

    def notify(self, checkpoint_id):
        for number in self.waiting:
            self.say("row", number)
        self.waiting = []

    def close(self):
        self.say("close", None)

    def say(self, what, value):
        with (HERE / "journal.jsonl").open("a") as journal:
            journal.write(json.dumps([what, value]) + "\\n")
'''


def job(lab: Lab, folder: Path, **sections: Any) -> Config:
    module = lab.name("sink").replace("-", "_")
    (lab.root / f"{module}.py").write_text(SINK.replace("FOLDER", str(folder)))
    source = {"format": "json", "schema": "id STRING, n INT", "max-offsets-per-trigger": 10}
    document = lab.document(lab.topic(*numbered(40)), "unused", source=source, **sections)
    return Config(**document | {"sink": {"python": f"{module}:Published"}})


def journal(folder: Path) -> list[list[Any]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


def test_what_is_published_at_completion_is_never_of_a_batch_that_failed(lab: Lab) -> None:
    folder = lab.folder()
    config = job(lab, folder, restart={"strategy": "fixed-delay", "attempts": 3, "delay": "0s"})
    run = lab.run_bounded(config)
    assert run.status is JobStatus.FINISHED, str(run.error)
    told = journal(folder)
    assert (folder / "failed").exists()
    # Nothing of the batch that failed; what the restart resumes from twice, since nobody knows whether it was told.
    again = Counter(range(10, 20))
    assert Counter(value for what, value in told if what == "row") == Counter(range(40)) + again
    assert [value for what, value in told if what == "open"] == [None, 1]
    assert told[-1] == ["close", None]


def test_what_the_class_raises_is_told_with_its_own_lines(lab: Lab) -> None:
    folder = lab.folder()
    run = lab.run_bounded(job(lab, folder))
    assert run.status is JobStatus.FAILED
    error = run.error
    assert error is not None
    assert "declined by participant 'sink.python'" in error.what
    assert "ValueError: the 26th row is too much" in error.why
    assert "in invoke" in error.why
    assert "milepost/sink/python.py" not in error.why, "our own lines stand in the way"
    assert no_trace(error.what)
