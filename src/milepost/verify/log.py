"""Reads the committed records of a log, up to the end at the start of the read.

Offsets are positions, not counts: control records, aborted transactions and compaction leave gaps.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]

from milepost.errors import NotReachableError
from milepost.verify.oracle import Record

_TIMEOUT_S = 30.0
_SILENCE_S = 60.0
_FETCH = 10_000
_GONE = (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET)  # noqa: SLF001 - its documented name


class LogMovedError(NotReachableError):
    """Retention deleted records before they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The part of one partition that is compared: [begin, end)."""

    topic: str
    partition: int
    begin: int
    end: int
    compacted: bool = False
    """Whether records within the span may have been removed."""

    @property
    def is_whole(self) -> bool:
        """Whether the span includes all records before `end`."""
        return self.begin == 0 and not self.compacted


def take_spans(
    client: Mapping[str, str], topics: Sequence[str], *, begins: Mapping[tuple[str, int], int] | None = None
) -> list[Span]:
    """Return the current spans of the topics; `begins` has the start offsets of the job.

    A topic that starts with `^` is a pattern, as in librdkafka.
    """
    consumer = _consumer(client)
    try:
        names = _names(consumer, topics)
        compacted = _compacted(client, names)
        spans = []
        for topic, partitions in names.items():
            for partition in partitions:
                first, end = consumer.get_watermark_offsets(
                    TopicPartition(topic, partition), timeout=_TIMEOUT_S
                )
                begin = max(first, (begins or {}).get((topic, partition), 0))
                spans.append(
                    Span(topic=topic, partition=partition, begin=begin, end=end, compacted=topic in compacted)
                )
        return spans
    except KafkaException as error:
        raise _unreachable(client, error) from error
    finally:
        consumer.close()


def read(client: Mapping[str, str], spans: Sequence[Span]) -> Iterator[Record]:
    """Yield the visible records of the spans; ordered within a partition, not between partitions."""
    open_ends = {(span.topic, span.partition): span.end for span in spans if span.begin < span.end}
    if not open_ends:
        return
    consumer = _consumer(client)
    try:
        wanted = [span for span in spans if (span.topic, span.partition) in open_ends]
        consumer.assign([TopicPartition(span.topic, span.partition, span.begin) for span in wanted])
        heard = time.monotonic()
        while open_ends:
            messages = consumer.consume(_FETCH, timeout=1.0)
            if messages:
                heard = time.monotonic()
            elif time.monotonic() - heard > _SILENCE_S:
                raise NotReachableError(
                    f"Kafka at {client.get('bootstrap.servers')} returned no records for {_SILENCE_S:.0f} s",
                    why=f"{len(open_ends)} partitions were not read to the end: {sorted(open_ends)[:5]}",
                    fix="Check the log of the broker, then run verify again",
                )
            yield from _visible(consumer, messages, open_ends)
    except KafkaException as error:
        raise _unreachable(client, error) from error
    finally:
        consumer.close()


def _visible(
    consumer: Consumer, messages: Sequence[Any], open_ends: dict[tuple[str, int], int]
) -> Iterator[Record]:
    for message in messages:
        topic, partition = message.topic(), message.partition()
        end = open_ends.get((topic, partition))
        if end is None:
            continue
        fault = message.error()
        if fault is not None and fault.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - its documented name
            raise _moved(topic, partition) if fault.code() in _GONE else KafkaException(fault)
        offset = message.offset()
        if fault is None and offset < end:
            kind, timestamp = message.timestamp()
            yield Record(
                topic,
                partition,
                offset,
                None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
                message.key(),
                message.value(),
            )
        # The end of a partition is a separate event, because its last offsets may not be records.
        if fault is not None or offset >= end - 1:
            del open_ends[topic, partition]
            consumer.incremental_unassign([TopicPartition(topic, partition)])


def _consumer(client: Mapping[str, str]) -> Consumer:
    return Consumer(
        {
            "isolation.level": "read_committed",
            **client,
            "group.id": "milepost-verify",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            # Failures are raised as exceptions; the library must not log to the output.
            "log_level": 2,
        }
    )


def is_named(wanted: str, topic: str) -> bool:
    """Return whether a topic has the wanted name, or matches it if it is a pattern."""
    return re.fullmatch(wanted if wanted.startswith("^") else re.escape(wanted), topic) is not None


def _names(consumer: Consumer, topics: Sequence[str]) -> dict[str, list[int]]:
    known = consumer.list_topics(timeout=_TIMEOUT_S).topics
    chosen: dict[str, list[int]] = {}
    for wanted in topics:
        matching = [name for name in known if is_named(wanted, name)]
        if not matching:
            raise NotReachableError(
                f"Topic {wanted} does not exist", fix="Check the name and the bootstrap servers"
            )
        for name in matching:
            chosen[name] = sorted(known[name].partitions)
    return chosen


def _compacted(client: Mapping[str, str], topics: Mapping[str, object]) -> set[str]:
    admin = AdminClient({**client, "log_level": 2})
    asked = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic) for topic in topics])
    compacted = set()
    for resource, answer in asked.items():
        try:
            policy = answer.result(timeout=_TIMEOUT_S)["cleanup.policy"].value
        except KafkaException:
            # Without permission to describe the topic, gaps in the log are reported as differences.
            continue
        if "compact" in policy:
            compacted.add(resource.name)
    return compacted


def _moved(topic: str, partition: int) -> LogMovedError:
    return LogMovedError(
        f"Records of {topic}-{partition} were deleted while it was read",
        why="retention deletes them faster than they are read",
        fix="Run verify again, or raise retention.ms or retention.bytes of the topic",
    )


def _unreachable(client: Mapping[str, str], error: KafkaException) -> NotReachableError:
    return NotReachableError(
        f"The log at {client.get('bootstrap.servers')} cannot be read",
        why=str(error.args[0].str() if error.args and isinstance(error.args[0], KafkaError) else error),
        fix="Check that the broker is running and that the client is allowed to read the topic",
    )
