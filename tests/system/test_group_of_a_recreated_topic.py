"""Offsets of a deleted topic never decide where its successor of the same name is read from."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.system.lab import Lab, Sent, visible, wait_until

from milepost.checkpoint.participants.participant import SnapshotContext
from milepost.config import Config
from milepost.errors import PreflightError, TopicRecreatedError
from milepost.inspect.broker import format_topic_id
from milepost.job.prepare import prepare_job
from milepost.job.spec import StartOptions
from milepost.job.status import JobStatus
from milepost.pipeline import Plan

OLD, NEW = (7, 5, 3), (20, 20, 20)
PARTITIONS = len(OLD)
FRESH = StartOptions(fresh=True)
DELETED = "belongs to a deleted topic of the same name"


@dataclass
class Story:
    """A topic that is deleted and created again, the group of its jobs, and their table."""

    lab: Lab
    topic: str
    group: str
    table: str
    directory: str
    said: list[str] = field(default_factory=list)

    def config(self, directory: str | None = None, **source: Any) -> Config:
        kafka = {
            "format": "json",
            "schema": "id STRING, n INT",
            "group-id": self.group,
            "commit": "on-checkpoints",
        }
        return self.lab.config(
            self.topic,
            self.table,
            source=kafka | source,
            sink={"columns": {"d": ["n"]}, "encoding": "string"},
            checkpointing={"dir": directory or self.directory, "interval": "1h", "timeout": "2h"},
        )

    def produce(self, counts: tuple[int, ...], name: str) -> None:
        self.lab.produce(
            self.topic,
            *(
                Sent(json.dumps({"id": f"{name}-{partition}-{n}", "n": n}).encode(), b"k", partition)
                for partition, count in enumerate(counts)
                for n in range(count)
            ),
        )

    def delete(self) -> None:
        admin = AdminClient(self.lab.kafka)
        admin.delete_topics([self.topic])[self.topic].result(30)
        wait_until(lambda: self.topic not in admin.list_topics(timeout=10).topics, "the topic is gone")

    def recreate(self) -> None:
        self.lab.create_topic(self.topic, PARTITIONS)
        self.produce(NEW, "new")

    def positions(self) -> list[int | None]:
        return [each.offset if each.offset >= 0 else None for each in self.committed()]

    def committed(self) -> list[TopicPartition]:
        """Return what the group has, as any client of Kafka sees it."""
        consumer = Consumer(self.lab.kafka | {"group.id": self.group})
        try:
            return consumer.committed([TopicPartition(self.topic, each) for each in range(PARTITIONS)], 30)
        finally:
            consumer.close()

    def mark(self) -> str:
        """Return the metadata of the group's offsets, as any client sees it: it names the topic as it is now."""
        admin = AdminClient(self.lab.kafka)
        described: Any = admin.describe_topics(TopicCollection([self.topic]))[self.topic].result(30)
        topic_id = format_topic_id(described.topic_id)
        cluster_id = admin.list_topics(timeout=30).cluster_id
        mark = {"milepost": {"cluster-id": cluster_id, "topic-id": topic_id}}
        assert [json.loads(each.metadata or "") for each in self.committed()] == [mark] * PARTITIONS
        return json.dumps(mark)

    def commit(self, positions: tuple[int, ...], metadata: str | None = None) -> None:
        """Commit as another client does, with whatever metadata it likes."""
        consumer = Consumer(self.lab.kafka | {"group.id": self.group})
        offsets = [TopicPartition(self.topic, each, at) for each, at in enumerate(positions)]
        if metadata is not None:
            offsets = [TopicPartition(each.topic, each.partition, each.offset, metadata) for each in offsets]
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
        finally:
            consumer.close()

    def plan(self, config: Config, options: StartOptions | None = None) -> Plan:
        return prepare_job(self.lab.spec(config, options=options)).plan

    def new_rows(self) -> int:
        """Return how many rows of the new topic the table has."""
        return sum(row.startswith(b"new-") for row in visible(self.lab.cells(self.config())))


@pytest.fixture
def story(lab: Lab) -> Story:
    story = Story(
        lab,
        lab.topic(partitions=PARTITIONS),
        lab.name("group"),
        lab.table("d"),
        str(lab.folder("checkpoint")),
    )
    story.produce(OLD, "old")
    return story


@dataclass
class Deleting:
    """A participant that lets the topic go while its checkpoint is sealed: the commit comes too late."""

    story: Story
    name: str = "deleting"
    is_done: bool = False

    def snapshot_state(self, _: SnapshotContext) -> None:
        if not self.is_done:
            self.is_done = True
            self.story.delete()


@pytest.mark.parametrize(
    "source",
    [
        {"commit": "on-checkpoints"},
        {"commit": "periodic", "commit-interval": "1h"},  # tried at the end alone
    ],
    ids=["on-checkpoints", "at-the-end"],
)
def test_a_late_commit_does_not_reach_the_new_topic(story: Story, source: dict[str, Any]) -> None:
    config = story.config(stop="never", **source)
    job = story.lab.start(config, participants=[Deleting(story)], warn=story.said.append)
    wait_until(lambda: job.progress().checkpoint_id == 0, "the checkpoint has completed without its topic")
    if source["commit"] == "on-checkpoints":
        wait_until(lambda: bool(story.said), "the commit has failed")
    story.recreate()
    job.trigger_checkpoint()
    assert job.wait() is JobStatus.FAILED
    assert isinstance(job.error, TopicRecreatedError), repr(job.error)
    assert story.positions() == [None] * PARTITIONS
    (sentence,) = [sentence for sentence in story.said if story.group in sentence]
    assert "could not be committed" in sentence
    assert "They are dropped" in sentence

    assert story.lab.finish(story.config(), options=FRESH).rows == sum(NEW)
    assert story.new_rows() == sum(NEW)
    assert story.positions() == list(NEW)


def test_offsets_that_an_older_version_left_in_the_new_topic(story: Story) -> None:
    """The directory knows that what this job has committed was of another topic."""
    assert story.lab.finish(story.config()).rows == sum(OLD)
    story.delete()
    story.recreate()
    story.commit(OLD)
    with pytest.raises(PreflightError, match=f"the group's offset 7 {DELETED}, and start-fallback is none"):
        story.plan(story.config(**{"start-fallback": "none"}), FRESH)
    starts = story.plan(story.config(), FRESH).start.partitions
    assert [(each.offset, each.reason) for each in starts] == [
        (0, f"earliest: the group's offset {offset} {DELETED}") for offset in OLD
    ]
    assert story.lab.finish(story.config(), options=FRESH).rows == sum(NEW)
    assert story.new_rows() == sum(NEW)
    assert story.positions() == list(NEW)


def test_an_offset_says_which_topic_it_belongs_to(story: Story) -> None:
    """A commit that comes in the moment between the look at the topic and the write is found out at the start."""
    assert story.lab.finish(story.config()).rows == sum(OLD)
    mark = story.mark()
    story.delete()
    story.recreate()
    story.commit(OLD, mark)
    elsewhere = str(story.lab.folder("checkpoint"))
    starts = story.plan(story.config(elsewhere)).start.partitions
    assert [(each.offset, each.reason) for each in starts] == [
        (0, f"earliest: the group's offset {offset} {DELETED}") for offset in OLD
    ]


@pytest.mark.parametrize("is_marked", [True, False], ids=["marked", "unmarked"])
def test_offsets_of_the_dead_topic_do_not_hold_up_those_of_the_new_one(story: Story, is_marked: bool) -> None:
    """A group never goes back within one topic; an offset of another topic is replaced although it is higher."""
    assert story.lab.finish(story.config()).rows == sum(OLD)
    mark = story.mark() if is_marked else None
    story.delete()
    story.recreate()
    story.commit((100, 100, 100), mark)
    assert story.lab.finish(story.config(), options=FRESH, warn=story.said.append).rows == sum(NEW)
    assert story.positions() == list(NEW)
    assert story.said == []


def test_offsets_of_this_topic_are_trusted_whoever_committed_them(story: Story) -> None:
    assert story.lab.finish(story.config()).rows == sum(OLD)
    mirrored = {"milepost": {"cluster-id": "of another cluster", "topic-id": "of its topic"}}
    for metadata in (story.mark(), None, "of another tool", "{}", json.dumps(mirrored)):
        story.commit((4, 4, 2), metadata)
        starts = story.plan(story.config(str(story.lab.folder("checkpoint")))).start.partitions
        assert [(each.offset, each.reason) for each in starts] == [
            (4, "group offset"),
            (4, "group offset"),
            (2, "group offset"),
        ]
