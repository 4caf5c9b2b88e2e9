"""The committer on a real broker: what a consumer group has afterwards, as any other client sees it (F12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from tests.system.lab import Lab, wait_until

from milepost.engine import jvm
from milepost.source.committer import OffsetCommitter
from milepost.source.group import FailureKind, KafkaGroup
from milepost.source.pending_commits import CommitMode, Schedule

CLOSE_S = 20.0
QUICK = Schedule(first_retry=0.2, longest_retry=0.5)


@dataclass
class Office:
    """A group, whoever commits to it, and what it said."""

    lab: Lab
    group: str
    topic: str
    said: list[str] = field(default_factory=list)
    opened: list[OffsetCommitter] = field(default_factory=list)

    def committer(self, schedule: Schedule = QUICK, bootstrap_servers: str | None = None) -> OffsetCommitter:
        servers = bootstrap_servers or self.lab.services.bootstrap_servers
        client = KafkaGroup(self.lab.spark, {"kafka.bootstrap.servers": servers}, self.group)
        committer = OffsetCommitter(client, schedule, notice=self.said.append).start()
        self.opened.append(committer)
        return committer

    def complete(self, committer: OffsetCommitter, checkpoint_id: int, *offsets: int) -> None:
        committer.remember(checkpoint_id, {self.topic: dict(enumerate(offsets))})
        committer.notify_checkpoint_complete(checkpoint_id)

    def committed(self, partitions: int = 2) -> list[int | None]:
        """Return what the group has, as any client of Kafka sees it."""
        consumer = Consumer(self.lab.kafka | {"group.id": self.group})
        try:
            asked = [TopicPartition(self.topic, each) for each in range(partitions)]
            return [each.offset if each.offset >= 0 else None for each in consumer.committed(asked, 30)]
        finally:
            consumer.close()

    def is_committed(self, *offsets: int | None) -> Callable[[], bool]:
        return lambda: self.committed(len(offsets)) == list(offsets)


@pytest.fixture
def office(lab: Lab) -> Iterator[Office]:
    office = Office(lab, lab.name("group"), lab.topic(partitions=2))
    yield office
    for committer in office.opened:
        committer.close(CLOSE_S)


def test_a_completed_checkpoint_is_the_group_s_committed_offset(office: Office):
    committer = office.committer()
    committer.remember(1, {office.topic: {0: 7, 1: 0}})
    assert office.committed() == [None, None]
    committer.notify_checkpoint_complete(1)
    wait_until(office.is_committed(7, 0), "the commit is visible")
    office.complete(committer, 2, 8, 3)
    wait_until(office.is_committed(8, 3), "the next commit is visible")
    wait_until(lambda: committer.stats().succeeded == 2, "both are counted")
    assert committer.stats().committed == {office.topic: {0: 8, 1: 3}}
    assert (committer.stats().failed, office.said) == (0, [])


def test_the_group_never_goes_back(office: Office):
    first = office.committer()
    office.complete(first, 5, 50, 5)
    wait_until(office.is_committed(50, 5), "the group is ahead")
    second = office.committer()
    second.reconcile({office.topic: {0: 40, 1: 5}})
    wait_until(lambda: second.stats().drift == {office.topic: {0: 10}}, "the drift is seen")
    office.complete(second, 4, 45, 6)
    wait_until(office.is_committed(50, 6), "one partition goes on, the other stays")
    assert len([sentence for sentence in office.said if "is ahead of the job's checkpoint" in sentence]) == 1
    office.complete(second, 5, 51, 7)
    wait_until(office.is_committed(51, 7), "the job has passed the group")
    wait_until(lambda: second.stats().drift == {}, "the drift is over")


def test_a_group_that_is_behind_is_brought_up_at_start(office: Office):
    office.complete(office.committer(), 1, 3, 3)
    wait_until(office.is_committed(3, 3), "the first commit is visible")
    office.committer().reconcile({office.topic: {0: 9, 1: 3}})
    wait_until(office.is_committed(9, 3), "the group is level with the checkpoint")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_live_member_is_a_failure_that_is_tried_again_until_it_has_left(office: Office, protocol: str):
    settings = {"group.id": office.group, "group.protocol": protocol, "enable.auto.commit": False}
    member = Consumer(office.lab.kafka | settings)
    admin = AdminClient(office.lab.kafka)
    try:
        member.subscribe([office.topic])
        wait_until(lambda: has_joined(member, admin, office.group), "the member has joined")
        committer = office.committer()
        office.complete(committer, 1, 7, 7)
        wait_until(lambda: committer.stats().failed >= 2, "it was tried again")
        assert office.committed() == [None, None]
        assert committer.stats().succeeded == 0
        assert len(office.said) == 1
        assert FailureKind.MEMBERS.why in office.said[0]
        assert office.group in office.said[0]
        assert "source.kafka.group-id" in office.said[0]
    finally:
        member.close()
    wait_until(office.is_committed(7, 7), "the commit succeeded after the member had left")
    wait_until(lambda: committer.stats().last_error is None, "the failure is over")
    assert office.said[1:] == [f"Offsets are committed to group {office.group!r} again."]


def test_an_unknown_partition_does_not_stop_the_others(office: Office):
    committer = office.committer()
    office.complete(committer, 1, 7, 7, 7)  # the topic has two partitions
    wait_until(office.is_committed(7, 7), "the others are committed")
    wait_until(lambda: committer.stats().failed >= 1, "the failure is counted")
    assert f"{office.topic}-2: {FailureKind.UNKNOWN_PARTITION.why}" in office.said[0]
    office.complete(committer, 2, 8, 9, 9)
    wait_until(office.is_committed(8, 9), "they go on")


def test_without_a_checkpoint_all_is_committed_again(office: Office):
    committer = office.committer(Schedule(recommit_after=0.5))
    office.complete(committer, 1, 7, 7)
    wait_until(office.is_committed(7, 7), "the commit is visible")
    admin = AdminClient(office.lab.kafka)

    def has_expired() -> bool:
        """The broker refuses to delete a group in the moment of a commit."""
        deleted: Any = admin.delete_consumer_groups([office.group])[office.group]
        error = deleted.exception(30)
        return error is None or error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND

    wait_until(has_expired, "the group's offsets are gone, as after offsets.retention.minutes")
    wait_until(office.is_committed(7, 7), "they are there again, without a checkpoint")


def test_periodic_commits_at_its_tick(office: Office):
    committer = office.committer(Schedule(mode=CommitMode.KAFKA_PERIODIC, commit_interval=0.5))
    for checkpoint_id in range(1, 20):
        office.complete(committer, checkpoint_id, checkpoint_id, 0)
    wait_until(office.is_committed(19, 0), "the newest is committed")
    wait_until(lambda: committer.stats().succeeded > 0, "it is counted")
    assert committer.stats().succeeded <= 2


def test_close_commits_the_last(office: Office):
    committer = office.committer(Schedule(mode=CommitMode.KAFKA_PERIODIC, commit_interval=3600.0))
    office.complete(committer, 1, 7, 3)
    committer.close(CLOSE_S)
    assert office.committed() == [7, 3]
    assert office.said == []


def test_one_client_is_open_until_close_however_many_commits(office: Office):
    before = admin_threads(office.lab.spark)
    committer = office.committer()
    assert admin_threads(office.lab.spark) == before
    for checkpoint_id in range(1, 4):
        office.complete(committer, checkpoint_id, checkpoint_id, 0)
        wait_until(office.is_committed(checkpoint_id, 0), "the commit is visible")
    assert admin_threads(office.lab.spark) == before + 1
    committer.close(CLOSE_S)
    wait_until(lambda: admin_threads(office.lab.spark) == before, "the client is closed")


def test_a_broker_that_is_not_there_holds_nobody_up(office: Office):
    committer = office.committer(bootstrap_servers="127.0.0.1:1")
    office.complete(committer, 1, 7, 7)
    committer.close(0.5)
    assert len(office.said) >= 1
    assert "were not committed within 0.5 s" in office.said[0]
    assert office.committed() == [None, None]


def has_joined(member: Consumer, admin: AdminClient, group: str) -> bool:
    member.poll(0.1)
    described: Any = admin.describe_consumer_groups([group])[group].result(30)
    return described.state is ConsumerGroupState.STABLE and len(described.members) == 1


def admin_threads(spark: SparkSession) -> int:
    threads = jvm(spark).java.lang.Thread.getAllStackTraces().keySet()
    return sum(thread.getName().startswith("kafka-admin-client-thread") for thread in threads)
