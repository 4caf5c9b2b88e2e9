"""The two time lines come from the same pipeline, and are compared before they are believed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import pytest

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.participants.participant import SnapshotContext
from milepost.demo import timeline_demo
from milepost.demo.environment import DemoEnvironment, DemoOptions
from milepost.demo.timeline import Arrangement, EventKind, TimelineEvent
from milepost.demo.timeline_demo import SlowParticipant, Timeline, pipeline, run
from milepost.errors import VerificationError
from milepost.services import Endpoints

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def environment(folder: Path) -> DemoEnvironment:
    return DemoEnvironment(folder, Endpoints("127.0.0.1:1", "127.0.0.1:2"), "timeline")


def test_both_arrangements_have_a_pipeline_of_their_own(tmp_path: Path) -> None:
    chained, keyed = (pipeline(environment(tmp_path), each) for each in Arrangement)
    assert chained.name == "timeline-chained"
    assert keyed.name == "timeline-keyed"
    assert chained.checkpointing.dir != keyed.checkpointing.dir
    assert chained.sink.hbase.table != keyed.sink.hbase.table


def test_a_slow_participant_records_begin_end_and_notification(tmp_path: Path) -> None:
    events: list[TimelineEvent] = []
    participants = SlowParticipant("a", events, tmp_path)
    state = participants.snapshot_state(SnapshotContext("a", CheckpointId(7), NOON))
    with pytest.raises(
        VerificationError, match="a was notified of checkpoint 7 before Spark had committed it"
    ):
        participants.notify_checkpoint_complete(7)
    (tmp_path / "7").touch()
    participants.notify_checkpoint_complete(7)
    assert state == 7
    assert [(m.lane, m.kind, m.checkpoint_id) for m in events] == [
        ("a", EventKind.SNAPSHOT_BEGIN, 7),
        ("a", EventKind.SNAPSHOT_END, 7),
        ("a", EventKind.NOTIFY, 7),
    ]
    assert events == sorted(events, key=lambda m: m.at)


def seen(*, b_begins: float, ends: float) -> list[TimelineEvent]:
    return [
        TimelineEvent(0, "a", EventKind.SNAPSHOT_BEGIN, 1),
        TimelineEvent(10, "a", EventKind.SNAPSHOT_END, 1),
        TimelineEvent(b_begins, "b", EventKind.SNAPSHOT_BEGIN, 1),
        TimelineEvent(ends, "b", EventKind.SNAPSHOT_END, 1),
        TimelineEvent(ends + 1, "coordinator", EventKind.COMPLETE, 1),
        *(TimelineEvent(ends + 2, lane, EventKind.NOTIFY, 1) for lane in "ab"),
    ]


def run_demo(
    monkeypatch: pytest.MonkeyPatch, folder: Path, chained: list[TimelineEvent], keyed: list[TimelineEvent]
) -> list[str]:
    """Run the demo with these events instead of Kafka, HBase and Spark; return the printed lines."""

    @contextmanager
    def demo_environment(_demo: DemoOptions, _name: str) -> Iterator[DemoEnvironment]:
        yield environment(folder)

    @contextmanager
    def no_session(*_: object) -> Iterator[None]:
        yield

    given = {Arrangement.CHAINED: chained, Arrangement.KEYED: keyed}
    monkeypatch.setattr(timeline_demo, "demo_environment", demo_environment)
    monkeypatch.setattr(timeline_demo, "session", no_session)
    monkeypatch.setattr(timeline_demo, "spark_conf", lambda *_: {})
    monkeypatch.setattr(timeline_demo, "_observe_checkpoint", lambda *arguments: given[arguments[-1]])
    said: list[str] = []
    run(Timeline(seconds=10, say=said.append))
    return said


def test_the_output_explains_keyed_and_compares_both(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = run_demo(monkeypatch, tmp_path, seen(b_begins=10, ends=20), seen(b_begins=0, ends=10))
    assert "4. keyed: participants=[a, b], which means separate chains: a and b run in parallel" in said
    assert said[-1] == "Two snapshots of 10 s each: chained 20.0 s, keyed 10.0 s, ratio 2.00"


def test_chains_that_do_not_run_side_by_side_are_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one_after_the_other = seen(b_begins=10, ends=20)
    with pytest.raises(VerificationError) as caught:
        run_demo(monkeypatch, tmp_path, one_after_the_other, one_after_the_other)
    assert caught.value.why == (
        "keyed, but b began only after a had ended; "
        "chained took 1.00 times as long as keyed, not between 1.6 and 2.4 times"
    )
