"""A driver that was paused while another took over finds out, and writes nothing to the directory any more."""

from __future__ import annotations

import json
import signal
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
import yaml
from tests.system.drivers import Driver
from tests.system.lab import Lab, no_trace, wait_until

from milepost.checkpoint.lease.epoch import Owner, begin_epoch
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import EPOCHS, Layout
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.config import load_config
from milepost.demo.driver import read_position
from milepost.demo.producer import LiveProducer
from milepost.demo.workload import SCHEMA, events
from milepost.errors import FencedError
from milepost.job.status import JobStatus
from milepost.verify import verify_pipeline

RECORDS = 600


class Site(NamedTuple):
    """One pipeline, and a copy of its file for the second driver."""

    first: Path
    second: Path
    layout: Layout


def site(lab: Lab) -> Site:
    folder = lab.folder("fencing")
    topic = lab.topic(partitions=2)
    LiveProducer(lab.services.bootstrap_servers, topic, events(RECORDS, seed=5)).send(RECORDS)
    document = lab.document(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": SCHEMA, "max-offsets-per-trigger": 50},
        sink={"columns": {"d": ["customer", "amount", "seq"]}, "op": "op"},
        checkpointing={"dir": str(folder / "checkpoint"), "interval": "100ms", "retained": 1_000},
        # A fenced driver must not try again, however patient its strategy is.
        restart={"strategy": "fixed-delay", "attempts": 5, "delay": "0s"},
    )
    document |= {"spark": {"master": "local[2]"}}
    files = []
    for name in ("first", "second"):
        (folder / name).mkdir()
        files.append(folder / name / "pipeline.yaml")
        files[-1].write_text(yaml.safe_dump(document))
    return Site(files[0], files[1], Layout(folder / "checkpoint"))


def is_stopped(driver: Driver) -> bool:
    """Return whether Python and JVM stand still; the shell that has stopped them is a zombie of the JVM."""
    process = psutil.Process(driver.process.pid)
    family = [each.status() for each in (process, *process.children(recursive=True))]
    return family[0] == psutil.STATUS_STOPPED and set(family[1:]) <= {
        psutil.STATUS_STOPPED,
        psutil.STATUS_ZOMBIE,
    }


def contents(layout: Layout) -> dict[str, bytes]:
    """Return every file that says what was committed, completed, and by whom."""
    names = ("offsets", "commits", "milepost/checkpoints", "milepost/epochs", "milepost/sealed")
    return {
        str(path.relative_to(layout.root)): path.read_bytes()
        for name in names
        for path in (layout.root / name).glob("*")
    }


# Before the seal the epoch tells it. After the seal, Spark's commit log does: `commits/N` is there already.
@pytest.mark.timeout(400)
@pytest.mark.parametrize("step", ["6-seal-before", "7-commit-before"])
def test_a_revived_driver_ends_with_3_and_changes_nothing(lab: Lab, step: str) -> None:
    place = site(lab)
    with Driver(place.first, f"{step}@3=stop") as paused:
        wait_until(lambda: paused.process.poll() is not None or is_stopped(paused), f"stopped at {step}", 90)
        assert paused.process.poll() is None, paused.output
        batch = read_position(place.layout).in_flight
        assert batch is not None
        # As on a file system whose locks mean nothing.
        place.layout.lease.unlink()
        with Driver(place.second) as second:
            assert second.end() == 0, second.output
            taken_over_by = second.process.pid
        before = contents(place.layout)
        assert read_position(place.layout).records == RECORDS
        paused.signal(signal.SIGCONT)
        assert paused.end() == 3, paused.output
        said = " ".join(paused.output.split())
        assert f"Another driver has taken over {place.layout.root}: process {taken_over_by} on" in said
        assert no_trace(paused.output)
    assert contents(place.layout) == before
    require_one_owner_per_epoch(place.layout, paused.process.pid, taken_over_by, batch)
    report = verify_pipeline(load_config(place.first), lab.spark)
    assert report.line == f"VERIFIED records={RECORDS} missing=0 extra=0 stale=0 duplicates=0"


def require_one_owner_per_epoch(layout: Layout, first: int, second: int, batch: int) -> None:
    """The epoch is the second driver's; what was completed before it is the first one's, and the rest is not."""
    (epoch,) = (layout.root / EPOCHS).iterdir()
    assert (epoch.name, json.loads(epoch.read_bytes())["pid"]) == ("2", second)
    files = CheckpointFiles(LocalStore(layout.root))
    stored = [files.get(each) for each in files.ids()]
    owners = {(each.epoch, each.job_id) for each in stored if each is not None}
    assert len(owners) == 2, owners
    assert [each.epoch for each in stored if each is not None] == [
        1 if checkpoint_id < batch else 2 for checkpoint_id in range(len(stored))
    ]
    assert first != second


@pytest.mark.timeout(300)
def test_of_two_drivers_started_at_once_exactly_one_runs(lab: Lab) -> None:
    place = site(lab)
    with Driver(place.first) as one, Driver(place.second) as other:
        codes = [one.end(), other.end()]
        outputs = [one.output, other.output]
    assert sorted(codes) == [0, 3], outputs
    refused = " ".join(outputs[codes.index(3)].split())
    winner = (one, other)[codes.index(0)].process.pid
    assert f"Another driver runs on {place.layout.root}: process {winner} on" in refused
    assert [path.name for path in (place.layout.root / EPOCHS).iterdir()] == ["1"]
    files = CheckpointFiles(LocalStore(place.layout.root))
    assert {stored.epoch for each in files.ids() if (stored := files.get(each))} == {1}
    report = verify_pipeline(load_config(place.first), lab.spark)
    assert report.line == f"VERIFIED records={RECORDS} missing=0 extra=0 stale=0 duplicates=0"


def test_a_fenced_driver_that_starts_again_touches_nothing(lab: Lab) -> None:
    place = site(lab)
    job = lab.start(load_config(place.first, ["source.kafka.stop=never", "checkpointing.interval=60s"]))
    job.trigger_checkpoint().result(60)
    begin_epoch(Store.at(str(place.layout.root)), 2, Owner.here("another", datetime.now(timezone.utc)))
    half_written = place.layout.commits / ".7.of-the-other-driver.tmp"
    half_written.touch()
    for query in lab.spark.streams.active:
        query.stop()
    assert job.wait() is JobStatus.FAILED
    assert isinstance(job.error, FencedError), repr(job.error)
    assert job.restarts == 1, "the one that found the directory taken"
    assert half_written.exists()
