"""Queries Kafka for topics, partitions and group offsets with librdkafka: without a JVM, and with a timeout."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError  # Python 3.10 has one of its own here
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import (
    OFFSET_INVALID,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)

from milepost.config import KafkaSource
from milepost.errors import NotReachableError
from milepost.inspect.retention import Policy
from milepost.source.librdkafka import client_properties
from milepost.source.offset_owner import parse_owner
from milepost.source.positions import Partition

# Approximate size of a record in the log in addition to its key and value.
_OVERHEAD = 20
# Number of records for an estimate of the record size.
_SAMPLE = 200
_URL_SAFE = str.maketrans("+/", "-_")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerTopic:
    """A topic on the broker."""

    topic_id: str
    policy: Policy
    ends: Mapping[int, tuple[int, int]]
    """Earliest and latest offset of each partition; latest is the last stable offset."""


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """The committed offset of a group in a partition, and the id of its topic if the metadata contains it."""

    offset: int
    topic_id: str | None = None


@dataclass(frozen=True, slots=True)
class Peek:
    """The timestamp of the first record at or after an offset, and the average record size."""

    timestamp_ms: int | None
    average_bytes: float


@dataclass(slots=True)
class Broker:
    """A Kafka cluster; each query ends within the timeout."""

    client: Mapping[str, str]
    timeout: float
    _admin: Any = field(init=False)

    @classmethod
    def of_source(cls, source: KafkaSource, timeout: float) -> Broker:
        """Return the cluster of a source; nothing is connected before the first question."""
        return cls(client_properties(source.client_properties), timeout)

    def __post_init__(self) -> None:
        # Failures are raised as exceptions; the library must not log to the output.
        self._admin = AdminClient({**self.client, "log_level": 2})

    def partitions(self, topics: Sequence[str], pattern: str | None = None) -> dict[str, list[int]]:
        """Return the partitions of the topics that exist."""
        with self._reporting_failures():
            known = self._admin.list_topics(timeout=self.timeout).topics
        wanted = [name for name in known if pattern and re.fullmatch(pattern, name)] if pattern else topics
        return {name: sorted(known[name].partitions) for name in wanted if name in known}

    def facts(self, partitions: Mapping[str, Sequence[int]]) -> dict[str, BrokerTopic]:
        """Return the current facts about these topics."""
        if not partitions:
            return {}
        places = [
            TopicPartition(topic, number) for topic, numbers in partitions.items() for number in numbers
        ]
        with self._reporting_failures():
            described = self._admin.describe_topics(
                TopicCollection(list(partitions)), request_timeout=self.timeout
            )
            ids = {
                topic: format_topic_id(answer.result(self.timeout).topic_id)
                for topic, answer in described.items()
            }
            first = self._offsets(places, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
            last = self._offsets(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        policies = self._policies(list(partitions))
        return {
            topic: BrokerTopic(
                topic_id=ids[topic],
                policy=policies[topic],
                ends={number: (first[topic, number], last[topic, number]) for number in numbers},
            )
            for topic, numbers in partitions.items()
        }

    def latest(self, topics: Sequence[str], pattern: str | None = None) -> dict[str, dict[int, int]]:
        """Return the last stable offset of every partition of these topics."""
        places = [
            TopicPartition(topic, number)
            for topic, numbers in self.partitions(topics, pattern).items()
            for number in numbers
        ]
        ends: dict[str, dict[int, int]] = {}
        with self._reporting_failures():
            found = self._offsets(places, OffsetSpec.latest()) if places else {}  # type: ignore[no-untyped-call]
        for (topic, number), offset in found.items():
            ends.setdefault(topic, {})[number] = offset
        return ends

    def committed(self, group: str, partitions: Sequence[Partition]) -> dict[Partition, GroupOffset]:
        """Return the committed offsets of the group, without joining it."""
        if not partitions:
            return {}
        with self._consumer(group) as consumer, self._reporting_failures():
            cluster_id = self._admin.list_topics(timeout=self.timeout).cluster_id
            answers = consumer.committed(
                [TopicPartition(*place) for place in partitions], timeout=self.timeout
            )
        return {
            (each.topic, each.partition): GroupOffset(each.offset, parse_owner(_metadata(each), cluster_id))
            for each in answers
            if each.offset != OFFSET_INVALID
        }

    def peek(self, positions: Mapping[Partition, int]) -> dict[Partition, Peek]:
        """Return the first record at or after each position; partitions that do not answer in time are missing."""
        seen = _PeekedRecords(set(positions))
        if not positions:
            return {}
        with self._consumer("milepost-inspect") as consumer, self._reporting_failures():
            consumer.assign([TopicPartition(*place, offset) for place, offset in positions.items()])
            deadline = time.monotonic() + self.timeout
            while seen.waiting and time.monotonic() < deadline:
                for message in consumer.consume(_SAMPLE, timeout=0.2):
                    seen.add(message)
        return seen.peeks()

    def _offsets(self, places: Sequence[TopicPartition], spec: Any) -> dict[Partition, int]:
        asked = self._admin.list_offsets(
            dict.fromkeys(places, spec),
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=self.timeout,
        )
        return {(p.topic, p.partition): answer.result(self.timeout).offset for p, answer in asked.items()}

    def _policies(self, topics: Sequence[str]) -> dict[str, Policy]:
        asked = self._admin.describe_configs(
            [ConfigResource(ResourceType.TOPIC, topic) for topic in topics], request_timeout=self.timeout
        )
        policies = {}
        for resource, answer in asked.items():
            try:
                policies[resource.name] = _policy(answer.result(self.timeout))
            except KafkaException:
                # Without permission to describe the topic, its retention is unknown.
                policies[resource.name] = Policy()
        return policies

    @contextmanager
    def _consumer(self, group: str) -> Iterator[Consumer]:
        settings = {
            "isolation.level": "read_committed",
            **self.client,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "allow.auto.create.topics": False,
            "log_level": 2,
        }
        with self._reporting_failures():
            consumer = Consumer(settings)
        try:
            yield consumer
        finally:
            consumer.close()

    @contextmanager
    def _reporting_failures(self) -> Iterator[None]:
        try:
            yield
        except (KafkaException, TimeoutError) as error:
            cause = error.args[0] if error.args else error
            raise NotReachableError(
                f"Kafka at {self.client.get('bootstrap.servers')} does not answer",
                why=str(cause.str() if isinstance(cause, KafkaError) else cause) or type(error).__name__,
                fix="Check source.kafka.bootstrap-servers, the properties, and that the broker is running",
            ) from error


class _PeekedRecords:
    """The records read so far; a partition is waited for until its first record or its end."""

    def __init__(self, waiting: set[Partition]) -> None:
        self.waiting = waiting
        self._times: dict[Partition, int | None] = {}
        self._sizes: dict[Partition, list[int]] = {}

    def add(self, message: Any) -> None:
        place: Partition = (message.topic(), message.partition())
        if message.error() is None:
            kind, moment = message.timestamp()
            self._times.setdefault(place, None if kind == TIMESTAMP_NOT_AVAILABLE else moment)
            self._sizes.setdefault(place, []).append(_record_size(message))
        # The rest of a partition may contain only transaction markers and aborted records.
        if message.error() is None or message.error().code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
            self.waiting.discard(place)

    def peeks(self) -> dict[Partition, Peek]:
        return {p: Peek(self._times[p], sum(each) / len(each)) for p, each in self._sizes.items()}


def format_topic_id(topic_id: Any) -> str:
    """Return a topic id in the form of Kafka's tools; librdkafka uses the standard Base64 alphabet."""
    return str(topic_id).translate(_URL_SAFE).rstrip("=")


def _metadata(place: TopicPartition) -> str | None:
    """Return the metadata of an offset; None if it is not text.

    librdkafka does not terminate it, so other bytes may follow.
    """
    try:
        return place.metadata
    except UnicodeDecodeError:
        return None


def _record_size(message: Any) -> int:
    return len(message.key() or b"") + len(message.value() or b"") + _OVERHEAD


def _policy(settings: Mapping[str, Any]) -> Policy:
    cleanup = settings["cleanup.policy"].value
    return Policy(
        deletes="delete" in cleanup,
        compacts="compact" in cleanup,
        retention_ms=_limit(settings["retention.ms"].value),
        retention_bytes=_limit(settings["retention.bytes"].value),
    )


def _limit(text: str) -> int | None:
    return None if int(text) < 0 else int(text)
