"""Which committer hears what of a completed checkpoint; the committers themselves are tested where they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, cast

import pytest

from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint, Offsets, Trigger
from milepost.config import Config
from milepost.job import group_offsets
from milepost.job.group_offsets import GroupOffsets
from milepost.source.committer import CommitStats, OffsetCommitter
from milepost.source.pending_commits import CommitMode, Schedule, TopicIds

AT = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclass
class FakeCommitter:
    """Writes down what it is told, in order."""

    heard: list[tuple[Any, ...]] = field(default_factory=list)
    schedule: Schedule | None = None

    def remember(self, checkpoint_id: int, positions: Offsets, topic_ids: TopicIds) -> None:
        self.heard.append(("remember", checkpoint_id, positions, topic_ids))

    def disown(self, positions: Offsets) -> None:
        self.heard.append(("disown", positions))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.heard.append(("complete", checkpoint_id))

    def reconcile(self, positions: Offsets, topic_ids: TopicIds) -> None:
        self.heard.append(("reconcile", positions, topic_ids))

    def stats(self) -> CommitStats:
        return CommitStats(succeeded=len(self.heard))

    def close(self, timeout: float) -> None:
        assert timeout > 0
        self.heard.append(("close",))

    def start(self) -> FakeCommitter:
        self.heard.append(("start",))
        return self


@dataclass(frozen=True)
class Topics:
    """A source that reads these topics."""

    names: frozenset[str]

    def reads(self, topic: str) -> bool:
        return topic in self.names


def groups(**views: str) -> tuple[GroupOffsets, dict[str, FakeCommitter]]:
    """Return the groups of views that read one topic each, and their committers."""
    committers = {view: FakeCommitter() for view in views}
    pairs = {
        view: (Topics(frozenset({topic})), cast(OffsetCommitter, committers[view]))
        for view, topic in views.items()
    }
    return GroupOffsets(pairs), committers


def checkpoint(checkpoint_id: int, *sources: Offsets, **topic_ids: str) -> CompletedCheckpoint:
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(checkpoint_id),
        trigger=Trigger.PERIODIC,
        triggered_at=AT,
        completed_at=AT,
        job_id="j",
        epoch=1,
        sources=sources,
        topic_ids=topic_ids,
    )


def test_a_completed_checkpoint_is_remembered_before_it_is_told() -> None:
    of_job, committers = groups(a="t")
    of_job.completed(checkpoint(3, {"t": {0: 7, 1: 9}}, t="qX4"))
    assert committers["a"].heard == [("remember", 3, {"t": {0: 7, 1: 9}}, {"t": "qX4"}), ("complete", 3)]


@pytest.mark.parametrize(
    ("sources", "a", "b"),
    [
        (({"t": {0: 1}}, {"u": {0: 2}}), {"t": {0: 1}}, {"u": {0: 2}}),
        (({"u": {0: 2}}, {"t": {0: 1}}), {"t": {0: 1}}, {"u": {0: 2}}),  # in whatever order Spark has them
        (({"t": {0: 1}},), {"t": {0: 1}}, {}),
        (({"t": {0: 1}, "u": {0: 2}},), {"t": {0: 1}}, {"u": {0: 2}}),
        (({"else": {0: 5}},), {}, {}),
        ((), {}, {}),
    ],
)
def test_each_group_gets_the_topics_of_its_own_source(
    sources: tuple[Offsets, ...], a: Offsets, b: Offsets
) -> None:
    of_job, committers = groups(a="t", b="u")
    of_job.completed(checkpoint(0, *sources))
    assert committers["a"].heard[0] == ("remember", 0, a, {})
    assert committers["b"].heard[0] == ("remember", 0, b, {})


def test_a_start_from_a_checkpoint_reconciles_every_group_with_it() -> None:
    of_job, committers = groups(a="t", b="u")
    of_job.reconcile(checkpoint(5, {"t": {0: 1}}, {"u": {0: 2}}, t="its own"), {"t": "of now", "u": "of now"})
    ids = {"t": "its own", "u": "of now"}
    assert committers["a"].heard == [("reconcile", {"t": {0: 1}}, ids)]
    assert committers["b"].heard == [("reconcile", {"u": {0: 2}}, ids)]


def test_each_group_hears_of_offsets_that_are_not_of_its_topics() -> None:
    of_job, committers = groups(a="t", b="u")
    of_job.disown({"t": {0: 7}})
    assert committers["a"].heard == [("disown", {"t": {0: 7}})]
    assert committers["b"].heard == [("disown", {})]


def test_a_fresh_start_leaves_the_groups_alone() -> None:
    of_job, committers = groups(a="t")
    of_job.reconcile(None, {"t": "qX4"})
    assert committers["a"].heard == []


def test_all_are_closed_and_each_has_its_own_count() -> None:
    of_job, committers = groups(a="t", b="u")
    of_job.completed(checkpoint(0, {"t": {0: 1}}))
    committers["b"].heard.clear()
    assert {view: stats.succeeded for view, stats in of_job.stats().items()} == {"a": 2, "b": 0}
    of_job.close()
    assert [committer.heard[-1] for committer in committers.values()] == [("close",), ("close",)]


# ---- which sources commit, and how ----


def config(**source: Any) -> Config:
    kafka = {"bootstrap-servers": "k:1", "topics": ["t"], "format": "json", "schema": "id STRING"} | source
    return Config(
        name="j",
        source={"kafka": kafka},
        sink={"hbase": {"quorum": "z", "table": "t", "row-key": ["id"], "columns": {"d": ["id"]}}},
        checkpointing={"dir": "/c"},
    )


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Schedule]]:
    """The group and the schedule of each committer that is made, without a JVM."""
    made: list[tuple[str, Schedule]] = []

    def group(_spark: object, options: dict[str, str], name: str) -> str:
        assert options["kafka.bootstrap.servers"] == "k:1"
        return name

    def committer(client: str, schedule: Schedule, **_: object) -> FakeCommitter:
        made.append((client, schedule))
        return FakeCommitter(schedule=schedule)

    monkeypatch.setattr(group_offsets, "KafkaGroup", group)
    monkeypatch.setattr(group_offsets, "OffsetCommitter", committer)
    return made


@pytest.mark.parametrize(
    ("source", "modes"),
    [
        ({"group-id": "g"}, [CommitMode.ON_CHECKPOINTS]),
        ({"group-id": "g", "commit": "on-checkpoints"}, [CommitMode.ON_CHECKPOINTS]),
        ({"group-id": "g", "commit": "periodic"}, [CommitMode.KAFKA_PERIODIC]),
        ({"group-id": "g", "commit": "disabled"}, []),
        ({}, []),
    ],
    ids=str,
)
def test_who_commits(
    made: list[tuple[str, Schedule]], source: dict[str, Any], modes: list[CommitMode]
) -> None:
    of_job = GroupOffsets.of(cast(Any, None), config(**source), lambda _: None)
    assert [(group, schedule.mode) for group, schedule in made] == [("g", mode) for mode in modes]
    assert {view: stats.succeeded for view, stats in of_job.stats().items()} == dict.fromkeys(
        ["source"] * len(modes), 1
    ), "it was started"


def test_the_interval_is_that_of_the_source(made: list[tuple[str, Schedule]]) -> None:
    source = {"group-id": "g", "commit": "periodic", "commit-interval": "7s"}
    GroupOffsets.of(cast(Any, None), config(**source), lambda _: None)
    ((_, schedule),) = made
    assert schedule.commit_interval == 7.0
