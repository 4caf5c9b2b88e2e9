"""Reads the committed batches of a job from its checkpoint directory: their time and the rows up to each."""

from __future__ import annotations

import json
from dataclasses import dataclass

from milepost.checkpoint.store.layout import Layout


@dataclass(frozen=True)
class Commit:
    """A committed batch: its time, and the number of rows of the topic in the table by then."""

    at: float
    rows: int


def read_commits(layout: Layout, topic: str) -> list[Commit]:
    """Return the commits of a checkpoint directory, in order."""
    if not layout.commits.is_dir():
        return []
    numbers = sorted(int(path.name) for path in layout.commits.iterdir() if path.name.isdigit())
    commits = []
    for number in numbers:
        log = (layout.offsets / str(number)).read_text().splitlines()
        rows = sum(json.loads(log[2])[topic].values())
        commits.append(Commit((layout.commits / str(number)).stat().st_mtime, rows))
    return commits


def steady_rate(commits: list[Commit]) -> float:
    """Return rows per second from the first commit to the last."""
    if len(commits) < 3:
        raise SystemExit(f"{len(commits)} batches are too few for a rate; use more --records")
    return (commits[-1].rows - commits[0].rows) / (commits[-1].at - commits[0].at)
