"""Reads a log as a committed reader sees it, up to the end that the broker named at the start.

Offsets are positions and never counts: control records, aborted transactions and compaction leave holes.
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
    """Retention removed records that were about to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The part of one partition that is compared: [begin, end)."""

    topic: str
    partition: int
    begin: int
    end: int
    compacted: bool = False
    """Whether records in the middle may have been removed."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing that was ever written before `end` can be outside the span."""
        return self.begin == 0 and not self.compacted


def take_spans(
    client: Mapping[str, str], topics: Sequence[str], *, begins: Mapping[tuple[str, int], int] | None = None
) -> list[Span]:
    """Return what is to be read, as the broker says now; `begins` is where the job itself began.

    A topic that starts with `^` is a pattern, as Kafka's own clients have it.
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
    """Yield every visible record of the spans; within a partition in order, between partitions in any."""
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
                    f"Kafka at {client.get('bootstrap.servers')} gave no record for {_SILENCE_S:.0f} s",
                    why=f"{len(open_ends)} partitions are not read to their end: {sorted(open_ends)[:5]}",
                    fix="Check the broker's log, then verify again",
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
        # The end of the partition comes as an event of its own, because its last offsets may be no records.
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
            # What goes wrong comes as an exception; the lines of the library would fall into the output.
            "log_level": 2,
        }
    )


def is_named(wanted: str, topic: str) -> bool:
    """Return whether a topic is the wanted one, or matches it where it is a pattern."""
    return re.fullmatch(wanted if wanted.startswith("^") else re.escape(wanted), topic) is not None


def _names(consumer: Consumer, topics: Sequence[str]) -> dict[str, list[int]]:
    known = consumer.list_topics(timeout=_TIMEOUT_S).topics
    chosen: dict[str, list[int]] = {}
    for wanted in topics:
        matching = [name for name in known if is_named(wanted, name)]
        if not matching:
            raise NotReachableError(
                f"There is no topic {wanted}", fix="Check the name and the bootstrap servers"
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
            # Without the right to ask, a hole in the log is reported rather than excused.
            continue
        if "compact" in policy:
            compacted.add(resource.name)
    return compacted


def _moved(topic: str, partition: int) -> LogMovedError:
    return LogMovedError(
        f"{topic}-{partition} lost records while it was read",
        why="retention removes them faster than they are read",
        fix="Verify again, or raise retention.ms or retention.bytes of the topic",
    )


def _unreachable(client: Mapping[str, str], error: KafkaException) -> NotReachableError:
    return NotReachableError(
        f"The log at {client.get('bootstrap.servers')} cannot be read",
        why=str(error.args[0].str() if error.args and isinstance(error.args[0], KafkaError) else error),
        fix="Check that the broker is up and that the topic may be read",
    )
