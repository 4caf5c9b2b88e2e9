"""Looks at a consumer group all the time, and judges afterwards: never ahead of a completed checkpoint, never back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from milepost.checkpoint.store import spark_log
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.store import LocalStore

Positions = Mapping[int, int]
"""Next offset to read, by partition of the one topic."""

EVERY_S = 0.02
_TIMEOUT_S = 10.0
_NOT_YET = (
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
)


class Sample(NamedTuple):
    """Where the group stood, at the moment when the broker's answer was in; in nanoseconds since 1970."""

    at: int
    positions: Positions


class Completion(NamedTuple):
    """When a checkpoint was durable in Spark's commit log, and where it ends."""

    at: int
    positions: Positions


def faults(samples: Sequence[Sample], completions: Sequence[Completion]) -> list[str]:
    """Return a sentence for every sample that is ahead of what was completed by then, or behind the one before."""
    return [*_ahead(samples, completions), *_back(samples)]


def _ahead(samples: Sequence[Sample], completions: Sequence[Completion]) -> Iterator[str]:
    for sample in samples:
        done = [completion for completion in completions if completion.at <= sample.at]
        newest = max(done, key=lambda completion: completion.at).positions if done else {}
        for partition, position in sample.positions.items():
            if position > newest.get(partition, 0):
                yield f"ahead: partition {partition} at {position}, completed {newest.get(partition)}"


def _back(samples: Sequence[Sample]) -> Iterator[str]:
    furthest: dict[int, int] = {}
    for sample in samples:
        for partition, position in furthest.items():
            if sample.positions.get(partition, -1) < position:
                yield f"back: partition {partition} from {position} to {sample.positions.get(partition)}"
        furthest.update(sample.positions)


def completions_of(layout: Layout, topic: str) -> list[Completion]:
    """Return every checkpoint that the directory still has.

    The file gets its name by a hard link, which sets the time of its last change: not before it was durable.
    """
    found = []
    for path in layout.commits.iterdir():
        if path.name.isdigit():
            (offsets,) = spark_log.read_offsets(LocalStore(layout.root), int(path.name))
            found.append(Completion(path.stat().st_ctime_ns, offsets[topic]))
    return sorted(found, key=lambda completion: completion.at)


class GroupWatch:
    """Samples a group from a thread of its own, from `with` to its end."""

    def __init__(self, kafka: Mapping[str, Any], group: str, topic: str, partitions: int) -> None:
        self.samples: list[Sample] = []
        self._failure: Exception | None = None
        self._admin = AdminClient(dict(kafka))
        self._question = ConsumerGroupTopicPartitions(
            group, [TopicPartition(topic, p) for p in range(partitions)]
        )
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="group-watch", daemon=True)

    def __enter__(self) -> GroupWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(_TIMEOUT_S)
        assert not self._thread.is_alive()
        if self._failure is not None:
            raise self._failure

    @property
    def moves(self) -> int:
        """How often the group was seen at another place than before."""
        pairs = zip(self.samples, self.samples[1:], strict=False)
        return sum(one.positions != next_one.positions for one, next_one in pairs)

    def _run(self) -> None:
        try:
            while not self._end.wait(EVERY_S):
                self._look()
        except Exception as error:  # told at the end of the block, in the test's own thread
            self._failure = error

    def _look(self) -> None:
        (answer,) = self._admin.list_consumer_group_offsets([self._question]).values()
        try:
            found = answer.result(_TIMEOUT_S).topic_partitions
        except KafkaException as error:
            if error.args[0].code() in _NOT_YET:
                return  # a broker that has just started has no coordinator for the group yet: no sample
            raise
        positions = {each.partition: each.offset for each in found if each.offset >= 0}
        self.samples.append(Sample(time.time_ns(), positions))
