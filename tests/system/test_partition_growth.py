"""Topics that get more partitions while a job reads them (F25): nothing newer hides behind something older."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]
from tests.system.drivers import END_S, Driver, write_pipeline
from tests.system.lab import Lab, Sent, visible, wait_until

from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.store import LocalStore
from milepost.checkpoint.versions import versions
from milepost.config import Config, load_config
from milepost.demo.driver import read_position
from milepost.verify import verify_pipeline

KEYS = 30
CLOCKS_MS = 300_000  # what an era adds to its transition, for clocks that differ


class Story:
    """Writes keys in a known order; who knows of the new partitions puts them elsewhere than who does not."""

    def __init__(self, lab: Lab, topic: str) -> None:
        self.lab, self.topic = lab, topic
        self.sent = 0
        self.expected: dict[bytes, bytes] = {}
        self._moment = 0

    def tell(self, *partitions: int) -> None:
        """Update or delete each key once per producer, one after the other: each has so many partitions in mind."""
        for known in partitions:
            self.lab.produce(self.topic, *(self._record(key, known) for key in range(KEYS)))

    def weigh_down(self, partition: int, count: int) -> None:
        """Give one partition larger offsets than the others."""
        value = json.dumps({"id": f"heavy-{partition}", "n": 0}).encode()
        moment = self._now()
        heavy = [Sent(value, b"heavy", partition, moment) for _ in range(count)]
        self.lab.produce(self.topic, *heavy)
        self.expected[f"heavy-{partition}".encode()] = b"0"
        self.sent += count

    def _record(self, key: int, partitions: int) -> Sent:
        name = f"k{key}"
        self.sent += 1
        if (self.sent + key) % 4 == 0:
            self.expected.pop(name.encode(), None)
            return Sent(None, name.encode(), key % partitions, self._now())
        self.expected[name.encode()] = str(self.sent).encode()
        value = json.dumps({"id": name, "n": self.sent}).encode()
        return Sent(value, name.encode(), key % partitions, self._now())

    def _now(self) -> int:
        # One millisecond each: that producers' clocks agree is what the transition asks for.
        self._moment = max(self._moment + 1, int(time.time() * 1000))
        return self._moment


def grow(lab: Lab, topic: str, partitions: int) -> None:
    admin = AdminClient(lab.kafka)
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(timeout=30)


def job(lab: Lab, topic: str, transition: str, **sections: Any) -> dict[str, Any]:
    return lab.document(
        topic,
        lab.table("d"),
        source={
            "format": "json",
            "schema": "id STRING, n INT",
            "stop": "never",
            "partition-growth": {"transition": transition},
        },
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        **sections,
    )


def generations(place: Layout, topic: str) -> list[tuple[int, str]]:
    known = versions.recorded(LocalStore(place.root))
    return [] if known is None else [(e["generation"], e["order"]) for e in known.topics[topic]["eras"]]


def require_in_time(place: Layout, topic: str) -> None:
    """The producers that lagged behind have known of the growth before the transition is over."""
    known = versions.recorded(LocalStore(place.root))
    assert known is not None
    assert time.time() * 1000 < known.topics[topic]["eras"][1]["until"] - CLOCKS_MS, (
        "this machine is too slow"
    )


def read_all(place: Layout, story: Story) -> None:
    what = f"{story.sent} records are in a checkpoint"
    wait_until(lambda: read_position(place).records == story.sent, what, patience=END_S)


def require_nothing_stale(lab: Lab, config: Config, story: Story) -> None:
    seen = {row: columns[b"n"] for row, columns in visible(lab.cells(config)).items()}
    assert seen == story.expected
    report = verify_pipeline(config, lab.spark)
    assert report.line == f"VERIFIED records={story.sent} missing=0 extra=0 stale=0 duplicates=0", (
        report.lines()
    )


def require_healthy(lab: Lab, config: Config) -> None:
    """The job runs, and what it has not committed yet accuses nothing."""
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()


@pytest.mark.timeout(400)
def test_keys_move_while_producers_lag_and_the_driver_is_killed(lab: Lab) -> None:
    folder, topic = lab.folder("growth"), lab.topic(partitions=3)
    document = job(
        lab,
        topic,
        "10s",
        checkpointing={"dir": str(folder / "checkpoint"), "interval": "200ms", "retained": 100},
    )
    file, place, story = write_pipeline(folder, document), Layout(folder / "checkpoint"), Story(lab, topic)
    story.weigh_down(0, 400)
    story.weigh_down(1, 200)
    story.tell(3, 3)
    with Driver(file) as driver:
        read_all(place, story)
        story.tell(3)
        grow(lab, topic, 5)
        story.tell(5, 3, 5)
        wait_until(lambda: len(generations(place, topic)) == 2, "the growth is noticed")
        story.tell(3, 5)
        assert driver.process.poll() is None, driver.output
    # Killed by the end of the block, with records under way; the next ones come while nobody reads.
    story.tell(5, 3)
    require_in_time(place, topic)
    story.tell(5)
    config = load_config(file)
    with lab.running(config):
        read_all(place, story)
        story.tell(5)
        require_healthy(lab, config)
        wait_until(lambda: len(generations(place, topic)) == 3, "the transition is over")
        story.tell(5, 5)
        read_all(place, story)
    assert generations(place, topic) == [(0, "offset"), (1, "time"), (2, "offset")]
    newest = CheckpointFiles(LocalStore(place.root)).newest()
    assert newest is not None
    assert newest.versions == (versions.recorded(LocalStore(place.root)) or versions.Versions()).topics
    require_nothing_stale(lab, config, story)


@pytest.mark.timeout(300)
def test_a_real_time_batch_in_which_a_topic_grows_is_run_again(lab: Lab) -> None:
    topic = lab.topic(partitions=2)
    config = Config(
        **job(
            lab,
            topic,
            "3s",
            checkpointing={"interval": "1s", "execution": "real-time"},
            restart={"strategy": "fixed-delay", "attempts": 3, "delay": "100ms"},
        )
    )
    place, story = Layout(Path(config.checkpointing.dir)), Story(lab, topic)
    story.weigh_down(0, 100)
    story.tell(2)
    with lab.running(config):
        read_all(place, story)
        story.tell(2)
        grow(lab, topic, 3)
        story.tell(3, 2, 3)
        wait_until(lambda: len(generations(place, topic)) == 2, "the growth is noticed")
        require_in_time(place, topic)
        require_healthy(lab, config)
        wait_until(lambda: len(generations(place, topic)) == 3, "the transition is over")
        story.tell(3)
        read_all(place, story)
    require_nothing_stale(lab, config, story)
