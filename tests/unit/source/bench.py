"""A committer on a clock that stands still, with a consumer group in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from milepost.source.committer import OffsetCommitter
from milepost.source.group import Answer, Failure, FailureKind
from milepost.source.pending_commits import (
    CommitMode,
    Schedule,
    TopicIds,
)
from milepost.source.positions import Partition, Positions

A, B = ("t", 0), ("t", 1)
PATIENCE_S = 10.0
BUSY = Failure(FailureKind.MEMBERS, "not a member")
GONE = Failure(FailureKind.UNKNOWN_PARTITION, "no such partition")
RECREATED = Failure(FailureKind.ANOTHER_TOPIC, "its id is new, and the offsets belong to old")
CLOSED = Failure(FailureKind.FORBIDDEN, "not authorized")


@dataclass
class Group:
    """A consumer group in memory that can be told to fail, to raise and to hang."""

    group: str = "g"
    offsets: dict[Partition, int] = field(default_factory=dict)
    owners: dict[Partition, str] = field(default_factory=dict)
    topic_ids: TopicIds = field(default_factory=dict)
    failing: Mapping[Partition, Failure] = field(default_factory=dict)
    raises: Exception | None = None
    commits: list[Positions] = field(default_factory=list)
    reads: int = 0
    closed: bool = False
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    may_go_on: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.may_go_on.set()

    def read(self, positions: Positions) -> Answer:
        self.reads += 1
        if self.raises:
            raise self.raises
        owners = {each: owner for each, owner in self.owners.items() if each in positions}
        return Answer({each: self.offsets.get(each) for each in positions}, owners)

    def commit(self, positions: Positions, topic_ids: TopicIds) -> Answer:
        self.commits.append(dict(positions))
        self.topic_ids = topic_ids
        self.entered.release()
        assert self.may_go_on.wait(PATIENCE_S)
        failures = {each: self.failing[each] for each in positions if each in self.failing}
        done = {each: offset for each, offset in positions.items() if each not in failures}
        self.offsets.update(done)
        self.owners.update({each: topic_ids[each[0]] for each in done if each[0] in topic_ids})
        return Answer(dict(done), failures=failures)

    def close(self) -> None:
        self.closed = True
        self.may_go_on.set()


@dataclass
class Bench:
    """A committer with its group, its clock and what it said."""

    group: Group = field(default_factory=Group)
    mode: CommitMode = CommitMode.ON_CHECKPOINTS
    now: float = 1000.0
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.schedule = Schedule(mode=self.mode, commit_interval=5.0, recommit_after=600.0)
        self.committer = OffsetCommitter(
            self.group, self.schedule, clock=lambda: self.now, notice=self.said.append
        )

    def complete(self, checkpoint_id: int, a: int, b: int = 0, topic_id: str = "new") -> None:
        self.committer.remember(checkpoint_id, {"t": {0: a, 1: b}}, {"t": topic_id})
        self.committer.notify_checkpoint_complete(checkpoint_id)

    def turn(self, after: float = 0.0) -> list[Positions]:
        """Let time pass, take one turn, and return what was written in it."""
        self.now += after
        before = len(self.group.commits)
        self.committer.turn()
        return self.group.commits[before:]

    @property
    def counts(self) -> tuple[int, int]:
        stats = self.committer.stats()
        return stats.succeeded, stats.failed


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread is about to do."""
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.005)):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come to pass")
