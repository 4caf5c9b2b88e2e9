"""The committed offsets of a consumer group, read and written without joining the group."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from milepost.engine import java_map, jvm
from milepost.source.pending_commits import TopicIds
from milepost.source.positions import Partition, Positions, nest_positions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FailureKind(Enum):
    """Why a partition could not be read or committed, and the fix."""

    MEMBERS = (
        "members",
        "the group has active members, and Kafka accepts offsets only from them",
        "Stop the consumers of the group, or set source.kafka.group-id to a group that no other consumer uses",
    )
    FORBIDDEN = (
        "forbidden",
        "Kafka does not allow this client to commit",
        "Grant Read on the group and on its topics to the principal of source.kafka.properties",
    )
    UNAUTHENTICATED = (
        "unauthenticated",
        "Kafka rejected the credentials",
        "Check the security.* and sasl.* entries of source.kafka.properties",
    )
    UNKNOWN_PARTITION = (
        "unknown-partition",
        "the broker does not have this partition",
        "Check whether the topic was deleted",
        True,
    )
    ANOTHER_TOPIC = (
        "another-topic",
        "the topic was deleted and created again",
        "Run with --fresh to read the new topic",
        True,
    )
    UNREACHABLE = ("unreachable", "Kafka did not answer in time", "Check that the brokers are running")
    PROPERTIES = (
        "properties",
        "the Kafka client cannot be built",
        "Correct source.kafka.properties or source.kafka.bootstrap-servers",
    )
    OTHER = ("other", "Kafka rejected the request", "")

    def __init__(self, word: str, why: str, fix: str, is_final: bool = False) -> None:
        self.word = word
        """The name that the engine uses."""
        self.why = why
        self.fix = fix
        self.is_final = is_final
        """Whether retries are pointless: the offsets belong to a deleted topic."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one partition could not be read or committed."""

    kind: FailureKind
    message: str
    """The message of the client."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a read or a commit; each requested partition is in `positions` or in `failures`."""

    positions: Mapping[Partition, int | None] = field(default_factory=dict)
    """The committed offsets of the group; None if there is none."""
    owners: Mapping[Partition, str] = field(default_factory=dict)
    """The id of the topic that an offset belongs to, if Milepost committed it."""
    failures: Mapping[Partition, Failure] = field(default_factory=dict)


class GroupClient(Protocol):
    """A client of one consumer group. Each call takes bounded time; an exception counts as a failure."""

    @property
    def group(self) -> str:
        """The group's name."""
        ...

    def read(self, positions: Positions) -> Answer:
        """Return the committed offsets of these partitions; the given offsets are ignored."""
        ...

    def commit(self, positions: Positions, topic_ids: TopicIds) -> Answer:
        """Commit these positions to the topics with these ids, never to other topics of the same names.

        The commit is not atomic: some partitions may succeed while others fail.
        """
        ...

    def close(self) -> None:
        """Close the client, from any thread; a call in flight fails. Idempotent."""
        ...


class KafkaGroup:
    """The group client of a job: it runs in the engine, with the Kafka client properties of the user."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str], group: str) -> None:
        """Take the options of the data source (`kafka.*`); connects with the first call."""
        self.group = group
        self._engine: Any = jvm(spark).io.milepost.kafka.group.GroupOffsets(java_map(spark, options), group)

    def read(self, positions: Positions) -> Answer:
        """Return the committed offsets of these partitions."""
        return parse_answer(self._engine.read(_question(positions)))

    def commit(self, positions: Positions, topic_ids: TopicIds) -> Answer:
        """Commit these positions in one request, after a check of the topic ids."""
        return parse_answer(self._engine.commit(_question(positions), json.dumps(dict(topic_ids))))

    def close(self) -> None:
        """Close the client."""
        self._engine.close()


def parse_answer(text: str) -> Answer:
    """Parse the answer of the engine; an unknown kind of failure is OTHER."""
    document = json.loads(text)
    words = {kind.word: kind for kind in FailureKind}
    positions = _by_partition(document["offsets"])
    owners = _by_partition(document["topic-ids"])
    failures = {
        each: Failure(words.get(error["kind"], FailureKind.OTHER), error["message"])
        for each, error in _by_partition(document["errors"]).items()
    }
    return Answer(positions, owners, failures)


def _by_partition(document: Mapping[str, Mapping[str, Any]]) -> dict[Partition, Any]:
    return {
        (topic, int(partition)): value
        for topic, partitions in document.items()
        for partition, value in partitions.items()
    }


def _question(positions: Positions) -> str:
    return json.dumps(nest_positions(positions))
