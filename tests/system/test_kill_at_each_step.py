"""The driver is killed with SIGKILL in every step of a checkpoint, one kill after the other on one directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.system.drivers import Driver, Left, left, write_pipeline
from tests.system.group_watch import GroupWatch, completions_of, faults
from tests.system.lab import Lab, wait_until

from milepost.checkpoint.store import spark_log
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.store import LocalStore
from milepost.config import load_config
from milepost.demo.driver import read_position
from milepost.demo.producer import LiveProducer
from milepost.demo.workload import SCHEMA, events
from milepost.verify import verify_pipeline

RECORDS = 4_000
RATE = 100
PARTITIONS = 2
KEPT = 1_000

NOTHING_BEGUN = Left(begun=False, sealed=False, stored=True)
LOGGED = Left(begun=True, sealed=False, stored=True)
SEALED = Left(begun=True, sealed=True, stored=True)
COMMITTED = Left(begun=False, sealed=True, stored=False)

# Writers are two, one per partition, so that the fifth write or acknowledgement is in the third checkpoint.
MICRO_BATCH: dict[str, Left | None] = {
    "1-decide@3": NOTHING_BEGUN,
    "2-trigger@3": NOTHING_BEGUN,
    "3-log-before@3": NOTHING_BEGUN,
    "3-log-after@3": LOGGED,
    "4-write@5": LOGGED,
    "5-ack@5": LOGGED,
    "6-seal-before@3": LOGGED,
    "6-seal-after@3": SEALED,
    "7-commit-before@3": SEALED,
    "7-commit-after@3": COMMITTED,
    "8-complete-before@3": COMMITTED,
    "8-complete-after@3": NOTHING_BEGUN,
    "9-notify-before@3": NOTHING_BEGUN,
    "9-notify-after@3": NOTHING_BEGUN,
}

# What `make test` has time for: each step once, where it has two sides the one that leaves more behind.
EACH_STEP_ONCE = {
    each: MICRO_BATCH[each]
    for each in (
        "1-decide@3",
        "2-trigger@3",
        "3-log-after@3",
        "4-write@5",
        "5-ack@5",
        "6-seal-after@3",
        "7-commit-after@3",
        "8-complete-after@3",
        "9-notify-before@3",
    )
}

# Here Spark logs the offsets after the seal. Batches follow each other without a pause, so that at a write the
# checkpoint before may or may not be stored yet.
REAL_TIME: dict[str, Left | None] = {
    "5-ack@5": NOTHING_BEGUN,
    "4-write@20": None,
    "6-seal-before@3": NOTHING_BEGUN,
    "6-seal-after@3": Left(begun=False, sealed=True, stored=True),
    "7-commit-before@3": SEALED,
    "7-commit-after@3": COMMITTED,
    "8-complete-before@3": COMMITTED,
}


class Site(NamedTuple):
    """One pipeline, with its file, its directory and its group."""

    file: Path
    layout: Layout
    topic: str
    group: str


def site(lab: Lab, source: Mapping[str, Any], checkpointing: Mapping[str, Any]) -> Site:
    """Write the pipeline that is killed; every checkpoint of it is kept, to look at."""
    folder, topic, group = lab.folder("kills"), lab.topic(partitions=PARTITIONS), lab.name("group")
    document = lab.document(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": SCHEMA, "group-id": group, "commit": "on-checkpoints", **source},
        sink={"columns": {"d": ["customer", "amount", "seq"]}, "op": "op"},
        checkpointing={"dir": str(folder / "checkpoint"), "retained": KEPT, **checkpointing},
    )
    document |= {"participants": ["tally:Tally"], "spark": {"master": f"local[{PARTITIONS}]"}}
    return Site(write_pipeline(folder, document), Layout(folder / "checkpoint"), topic, group)


def watch(lab: Lab, place: Site) -> GroupWatch:
    return GroupWatch(lab.kafka, place.group, place.topic, PARTITIONS)


def kill_at(place: Site, failpoint: str) -> None:
    """Run the job until it dies there."""
    with Driver(place.file, f"{failpoint}=kill") as driver:
        assert driver.end() == -9, driver.output


def require_restored_state(place: Site, resumed: list[int | None]) -> None:
    """Each start was given the participant's state of exactly the checkpoint that it resumed from.

    A completed checkpoint has one snapshot that counts, whatever was tried in between.
    """
    lines = map(json.loads, (place.file.with_name("journal.jsonl")).read_text().splitlines())
    journal = [(what, checkpoint_id, state) for what, checkpoint_id, state in lines]
    given = [(checkpoint_id, state) for what, checkpoint_id, state in journal if what == "initialized"]
    assert given == [
        (None, None) if at is None else (at, {"snapshots": at + 1, "checkpoint": at}) for at in resumed
    ]
    told = [checkpoint_id for what, checkpoint_id, _ in journal if what == "completed"]
    assert told == sorted(set(told))


def require_manifests_of_spark(place: Site) -> None:
    """Every batch that Spark has committed is a stored checkpoint, of a driver, with Spark's own offsets."""
    files = CheckpointFiles(LocalStore(place.layout.root))
    last = read_position(place.layout).completed
    assert last is not None
    assert files.ids() == list(range(last + 1))
    for checkpoint_id in files.ids():
        stored = files.get(checkpoint_id)
        assert stored is not None
        assert stored.sources == spark_log.read_offsets(LocalStore(place.layout.root), checkpoint_id)
        assert stored.states == {"tally": {"snapshots": checkpoint_id + 1, "checkpoint": checkpoint_id}}
        assert stored.epoch > 0


def require_exactly_once(lab: Lab, place: Site, records: int) -> None:
    """The table is what the log says, and so is the group."""
    report = verify_pipeline(load_config(place.file), lab.spark)
    expected = f"VERIFIED records={records} missing=0 extra=0 stale=0 duplicates=0"
    assert report.line == expected, report.lines()


def require_honest_group(place: Site, seen: GroupWatch, moves: int) -> None:
    """The group was never ahead of a completed checkpoint and never went back, and ends where the job does."""
    completions = completions_of(place.layout, place.topic)
    assert faults(seen.samples, completions) == []
    assert seen.moves >= moves, "the group hardly moved, so nothing was proved"
    assert seen.samples[-1].positions == completions[-1].positions


def survive(place: Site, steps: Mapping[str, Left | None]) -> list[int | None]:
    """Run the job and kill it in one step after the other; return the checkpoint that each start resumed from."""
    resumed = []
    for failpoint, expected in steps.items():
        resumed.append(read_position(place.layout).completed)
        kill_at(place, failpoint)
        assert expected in (None, left(place.layout)), failpoint
    return [*resumed, read_position(place.layout).completed]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(EACH_STEP_ONCE, id="each step once"),
        pytest.param(MICRO_BATCH, id="before and after", marks=pytest.mark.chaos),
    ],
)
def test_killed_in_every_step_nothing_is_lost_or_counted_twice(
    lab: Lab, steps: dict[str, Left | None]
) -> None:
    place = site(lab, source={"max-offsets-per-trigger": 90}, checkpointing={"interval": "100ms"})
    LiveProducer(lab.services.bootstrap_servers, place.topic, events(RECORDS, seed=11)).send(RECORDS)
    with watch(lab, place) as seen:
        resumed = survive(place, steps)
        with Driver(place.file) as driver:
            assert driver.end() == 0, driver.output
        wait_until(lambda: sum(seen.samples[-1].positions.values()) == RECORDS, "the group is at the end")
    require_exactly_once(lab, place, RECORDS)
    require_restored_state(place, resumed)
    require_manifests_of_spark(place)
    require_honest_group(place, seen, moves=len(steps) // 2)


@pytest.mark.timeout(900)
def test_killed_in_real_time_nothing_is_lost_or_counted_twice(lab: Lab) -> None:
    place = site(lab, source={"stop": "never"}, checkpointing={"interval": "500ms", "execution": "real-time"})
    live = LiveProducer(lab.services.bootstrap_servers, place.topic, events(1_000_000, seed=12))
    try:
        live.start(RATE)
        with watch(lab, place) as seen:
            resumed = survive(place, REAL_TIME)
            live.close()
            with Driver(place.file) as driver:
                wait_until(lambda: read_position(place.layout).records == live.sent, "the job has caught up")
                driver.interrupt()
                assert driver.end() == 0, driver.output
            wait_until(lambda: sum(seen.samples[-1].positions.values()) == live.sent, "so has the group")
    finally:
        live.close()
    require_exactly_once(lab, place, live.sent)
    require_restored_state(place, resumed)
    require_manifests_of_spark(place)
    require_honest_group(place, seen, moves=len(REAL_TIME) // 2)
