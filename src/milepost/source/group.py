"""A consumer group's offsets as Kafka has them: read and written without being a member of the group."""

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
    """What kept a partition from being read or committed; each with what to do about it."""

    MEMBERS = (
        "members",
        "the group has live members, and then Kafka takes offsets from these only",
        "Stop the consumers of the group, or give source.kafka.group-id a name that nobody else consumes with",
    )
    FORBIDDEN = (
        "forbidden",
        "Kafka does not let this client commit",
        "Grant Read on the group and on its topics to the principal of source.kafka.properties",
    )
    UNAUTHENTICATED = (
        "unauthenticated",
        "Kafka refused the credentials",
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
    OTHER = ("other", "Kafka refused it", "")

    def __init__(self, word: str, why: str, fix: str, is_final: bool = False) -> None:
        self.word = word
        """The engine's word for it."""
        self.why = why
        self.fix = fix
        self.is_final = is_final
        """Whether no later try may succeed: the offsets would become those of another topic."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one partition could not be read or committed."""

    kind: FailureKind
    message: str
    """The client's own words."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the broker said about a question or a commit; each partition that was named is in one of the two."""

    positions: Mapping[Partition, int | None] = field(default_factory=dict)
    """Where the group stands now; None where it has no offset."""
    owners: Mapping[Partition, str] = field(default_factory=dict)
    """The id of the topic that an offset belongs to, where Milepost has committed it."""
    failures: Mapping[Partition, Failure] = field(default_factory=dict)


class GroupClient(Protocol):
    """One consumer group, from its first call to `close`. A call takes bounded time; what it raises is a failure."""

    @property
    def group(self) -> str:
        """The group's name."""
        ...

    def read(self, positions: Positions) -> Answer:
        """Return where the group stands in these partitions; their offsets are not looked at."""
        ...

    def commit(self, positions: Positions, topic_ids: TopicIds) -> Answer:
        """Write these positions into the topics with these ids, and no others of the same names.

        Not a transaction: some partitions may succeed where others fail.
        """
        ...

    def close(self) -> None:
        """Let go of the client, from any thread; a call in flight then fails. Safe to call again."""
        ...


class KafkaGroup:
    """The group client of a job: the engine's, with the user's own Kafka client properties."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str], group: str) -> None:
        """Take the options of the data source (`kafka.*`); nothing is connected before the first call."""
        self.group = group
        self._engine: Any = jvm(spark).io.milepost.kafka.group.GroupOffsets(java_map(spark, options), group)

    def read(self, positions: Positions) -> Answer:
        """Return where the group stands in these partitions."""
        return parse_answer(self._engine.read(_question(positions)))

    def commit(self, positions: Positions, topic_ids: TopicIds) -> Answer:
        """Write these positions, in one request, after a look at the ids of their topics."""
        return parse_answer(self._engine.commit(_question(positions), json.dumps(dict(topic_ids))))

    def close(self) -> None:
        """Let go of the client."""
        self._engine.close()


def parse_answer(text: str) -> Answer:
    """Turn the engine's answer into values; a word that is not known is OTHER."""
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
