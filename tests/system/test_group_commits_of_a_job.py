"""What a job leaves in its consumer group: level with the checkpoint, never ahead of it, never back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, ConsumerGroupState, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.system.lab import Lab, Sent, wait_until

from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import Store
from milepost.config import Config
from milepost.job.status import JobStatus
from milepost.transform import Transformation

PARTITIONS = 2


def record(number: int) -> Sent:
    return Sent(json.dumps({"id": f"k{number}", "n": number}).encode(), b"k", number % PARTITIONS)


def records(count: int, first: int = 0) -> list[Sent]:
    return [record(number) for number in range(first, first + count)]


@dataclass
class Place:
    """A topic, a table, a checkpoint directory and a group, for one job after the other."""

    lab: Lab
    topic: str
    group: str
    table: str
    directory: str

    def document(
        self,
        *,
        directory: str | None = None,
        restart: Any = None,
        interval: str = "0s",
        **source: Any,
    ) -> dict[str, Any]:
        kafka = {"format": "json", "schema": "id STRING, n INT", "group-id": self.group} | source
        return self.lab.document(
            self.topic,
            self.table,
            source=kafka,
            sink={"columns": {"d": ["n"]}, "encoding": "string"},
            checkpointing={"dir": directory or self.directory, "interval": interval, "timeout": "1h"},
            restart=restart,
        )

    def config(self, **changes: Any) -> Config:
        return Config(**self.document(**{"commit": "on-checkpoints"} | changes))

    @property
    def store(self) -> Store:
        return Store.at(self.directory)

    def committed(self) -> list[int | None]:
        """Return what the group has, as any client of Kafka sees it."""
        with self.client() as consumer:
            return committed(consumer, self.topic)

    def completed(self) -> list[int]:
        """Return where the newest completed checkpoint stands, from Spark's own files."""
        batch = newest_completed(self.store)
        assert batch is not None
        return [batch.sources[0][self.topic][each] for each in range(PARTITIONS)]

    def ends(self) -> list[int]:
        """Return the high watermarks: what a consumer-group tool takes the lag from."""
        with self.client() as consumer:
            asked = [TopicPartition(self.topic, each) for each in range(PARTITIONS)]
            return [consumer.get_watermark_offsets(each, timeout=30)[1] for each in asked]

    @contextmanager
    def client(self) -> Iterator[Consumer]:
        consumer = Consumer(self.lab.kafka | {"group.id": self.group})
        try:
            yield consumer
        finally:
            consumer.close()


def committed(consumer: Consumer, topic: str) -> list[int | None]:
    found = consumer.committed([TopicPartition(topic, each) for each in range(PARTITIONS)], 30)
    return [each.offset if each.offset >= 0 else None for each in found]


@pytest.fixture
def place(lab: Lab) -> Place:
    topic = lab.topic(partitions=PARTITIONS)
    return Place(lab, topic, lab.name("group"), lab.table("d"), str(lab.folder("checkpoint")))


# ---- level with the checkpoint ----


def test_lag_is_0_on_a_transactional_topic_after_catching_up(place: Place) -> None:
    producer = Producer(place.lab.kafka | {"transactional.id": place.lab.name("tx")})
    producer.init_transactions(30)
    for first, end in ((0, "commit"), (10, "abort"), (20, "commit"), (30, "abort")):
        producer.begin_transaction()
        for sent in records(10, first):
            producer.produce(place.topic, sent.value, sent.key, sent.partition)
        producer.flush(30)
        producer.commit_transaction(30) if end == "commit" else producer.abort_transaction(30)

    assert place.lab.finish(place.config()).rows == 20
    ends = place.ends()
    assert sum(ends) > 40, "markers take offsets too, and the last of them is the end"
    assert place.committed() == ends == place.completed()


def test_a_job_that_is_stopped_leaves_the_group_at_its_last_checkpoint(place: Place) -> None:
    place.lab.produce(place.topic, *records(20))
    job = place.lab.start(place.config(stop="never"))
    try:
        wait_until(lambda: job.progress().rows == 20, "all rows are written")
        wait_until(lambda: place.committed() == [10, 10], "the group is told while the job runs")
        place.lab.produce(place.topic, *records(4, 20))
    finally:
        job.cancel()
        assert job.wait() is JobStatus.CANCELED
    assert place.committed() == place.completed()


@pytest.mark.parametrize(
    ("source", "is_told"),
    [
        ({"commit": "on-checkpoints"}, True),
        ({"commit": "periodic"}, True),
        ({"commit": "periodic", "commit-interval": "1h"}, True),  # told at the end
        ({"commit": None}, True),  # on-checkpoints is the default with a group-id
        ({"commit": "disabled"}, False),
    ],
    ids=str,
)
def test_modes(place: Place, source: dict[str, Any], is_told: bool) -> None:
    place.lab.produce(place.topic, *records(10))
    assert place.lab.finish(place.config(**source)).rows == 10
    assert place.committed() == ([5, 5] if is_told else [None, None])


def test_periodic_tells_a_running_job_s_group_too(place: Place) -> None:
    place.lab.produce(place.topic, *records(10))
    job = place.lab.start(place.config(stop="never", commit="periodic", **{"commit-interval": "1s"}))
    try:
        wait_until(lambda: place.committed() == [5, 5], "the tick has come")
    finally:
        job.cancel()
        job.wait()


def test_an_idle_job_tells_its_group_at_each_checkpoint(place: Place) -> None:
    """A group whose offsets are gone, as after offsets.retention.minutes, has them again without a new record."""
    place.lab.produce(place.topic, *records(4))
    config = place.config(stop="never", interval="1h")
    with place.lab.running(config) as (_, pipeline):
        wait_until(lambda: place.committed() == [2, 2], "the backlog is committed")
        forget_group(place)
        assert place.committed() == [None, None]
        assert pipeline.checkpoint(60).rows == 0
        wait_until(lambda: place.committed() == [2, 2], "an empty checkpoint commits all of it")


def forget_group(place: Place) -> None:
    admin = AdminClient(place.lab.kafka)

    def is_forgotten() -> bool:
        """The broker refuses to delete a group in the moment of a commit."""
        return admin.delete_consumer_groups([place.group])[place.group].exception(30) is None

    wait_until(is_forgotten, "the group is deleted")


def test_a_new_job_of_the_group_goes_on_where_the_former_was(place: Place) -> None:
    place.lab.produce(place.topic, *records(10))
    assert place.lab.finish(place.config()).rows == 10
    place.lab.produce(place.topic, *records(6, 10))
    elsewhere = str(place.lab.folder("checkpoint"))
    assert place.lab.finish(place.config(directory=elsewhere)).rows == 6


# ---- never ahead, never back ----


@dataclass
class Watch:
    """Looks at the group and at the checkpoint directory, over and over, from `__enter__` to `__exit__`."""

    place: Place
    samples: list[tuple[list[int], list[int]]] = field(default_factory=list)
    _done: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(30)

    def _look(self) -> None:
        with self.place.client() as consumer:
            while not self._done.wait(0.005):
                # In this order: a checkpoint that completes in between must not look like a group that is ahead.
                group = [each or 0 for each in committed(consumer, self.place.topic)]
                batch = newest_completed(self.place.store)
                checkpoint = dict(batch.sources[0][self.place.topic]) if batch else {}
                self.samples.append((group, [checkpoint.get(each, 0) for each in range(PARTITIONS)]))

    def check(self) -> None:
        ahead = [sample for sample in self.samples if any(g > c for g, c in zip(*sample, strict=True))]
        assert ahead == []
        for (earlier, _), (later, _) in zip(self.samples, self.samples[1:], strict=False):
            assert all(a <= b for a, b in zip(earlier, later, strict=True)), f"{earlier} became {later}"

    @property
    def steps(self) -> int:
        """Return how many different positions of the group were seen."""
        return len({tuple(group) for group, _ in self.samples})


def failing_once_at(number: int, folder: Path) -> Transformation:
    """Return a transformation that raises at one record, the first time, and is slow enough to be watched."""
    mark = str(folder / "failed")

    def check(value):
        threading.Event().wait(0.01)
        if value == number and not Path(mark).exists():
            Path(mark).touch()
            raise RuntimeError(f"failure at record {number}")
        return value

    def transformation(rows: DataFrame) -> DataFrame:
        return rows.withColumn("n", F.udf(lambda value: check(value), "int")("n"))

    return transformation


def test_the_group_is_never_ahead_and_never_goes_back_over_a_restart(place: Place, tmp_path: Path) -> None:
    place.lab.produce(place.topic, *records(60))
    config = place.config(
        restart={"strategy": "fixed-delay", "attempts": 1, "delay": "100ms"}, **{"max-offsets-per-trigger": 6}
    )
    with Watch(place) as watch:
        assert place.lab.finish(config, failing_once_at(33, tmp_path)).rows >= 60
    assert (tmp_path / "failed").exists()
    watch.check()
    assert watch.steps >= 4
    assert place.committed() == [30, 30]


def test_somebody_who_moved_the_group_ahead_is_left_alone(place: Place) -> None:
    place.lab.produce(place.topic, *records(10))
    place.lab.finish(place.config())
    place.lab.produce(place.topic, *records(10, 10))
    with place.client() as consumer:
        consumer.commit(offsets=[TopicPartition(place.topic, 0, 500)], asynchronous=False)
    assert place.lab.finish(place.config()).rows == 10, "the state's offsets count, not the group's"
    assert place.committed() == [500, 10]


# ---- failures ----


def test_a_live_member_does_not_touch_the_job_and_the_next_start_makes_up_for_it(place: Place) -> None:
    place.lab.produce(place.topic, *records(10))
    member = Consumer(place.lab.kafka | {"group.id": place.group, "enable.auto.commit": False})
    admin = AdminClient(place.lab.kafka)

    def has_joined() -> bool:
        member.poll(0.1)
        described: Any = admin.describe_consumer_groups([place.group])[place.group].result(30)
        return described.state is ConsumerGroupState.STABLE

    try:
        member.subscribe([place.topic])
        wait_until(has_joined, "the member has joined")
        assert place.lab.finish(place.config()).rows == 10
        assert place.committed() == [None, None]
    finally:
        member.close()
    assert place.lab.finish(place.config()).rows == 0
    assert place.committed() == [5, 5]


@pytest.mark.parametrize("failpoint", ["8-complete-before", "9-notify-before"])
def test_a_death_before_the_group_is_told_is_made_up_for_at_the_next_start(
    place: Place, failpoint: str, tmp_path: Path
) -> None:
    place.lab.produce(place.topic, *records(20))
    file = tmp_path / "pipeline.yaml"
    changes: dict[str, Any] = {"commit": "on-checkpoints", "max-offsets-per-trigger": 10}
    file.write_text(yaml.safe_dump(place.document(**changes)))
    command = [sys.executable, "-m", "milepost", "run", str(file)]
    dies_at = os.environ | {"MILEPOST_FAILPOINTS": f"{failpoint}@2=kill"}
    with Watch(place) as watch:
        killed = subprocess.run(
            command, capture_output=True, text=True, check=False, env=dies_at, start_new_session=True
        )
        assert killed.returncode != 0, "the failpoint was not reached"
        assert place.completed() == [10, 10]
        assert place.committed() != [10, 10]
        # In the shared session: another process would show nothing more.
        place.lab.finish(place.config(**changes))
    watch.check()
    assert place.committed() == [10, 10]
