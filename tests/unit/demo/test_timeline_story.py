"""The two time lines come from the same pipeline, and are compared before they are believed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import pytest

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.participants.participant import SnapshotContext
from milepost.demo import timeline_story
from milepost.demo.environment import Stage, Story
from milepost.demo.timeline import Arrangement, Moment, What
from milepost.demo.timeline_story import Slow, Timeline, pipeline, run
from milepost.errors import VerificationError
from milepost.services import Endpoints

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def stage(folder: Path) -> Stage:
    return Stage(folder, Endpoints("127.0.0.1:1", "127.0.0.1:2"), "timeline")


def test_both_arrangements_have_a_pipeline_of_their_own(tmp_path: Path) -> None:
    chained, keyed = (pipeline(stage(tmp_path), each) for each in Arrangement)
    assert chained.name == "timeline-chained"
    assert keyed.name == "timeline-keyed"
    assert chained.checkpointing.dir != keyed.checkpointing.dir
    assert chained.sink.hbase.table != keyed.sink.hbase.table


def test_a_slow_participant_notes_begin_end_and_what_it_is_told(tmp_path: Path) -> None:
    moments: list[Moment] = []
    slow = Slow("a", moments, tmp_path)
    state = slow.snapshot_state(SnapshotContext("a", CheckpointId(7), NOON))
    with pytest.raises(VerificationError, match="a was told of 7 before Spark had committed it"):
        slow.notify_checkpoint_complete(7)
    (tmp_path / "7").touch()
    slow.notify_checkpoint_complete(7)
    assert state == 7
    assert [(m.lane, m.what, m.checkpoint_id) for m in moments] == [
        ("a", What.SNAPSHOT_BEGIN, 7),
        ("a", What.SNAPSHOT_END, 7),
        ("a", What.NOTIFY, 7),
    ]
    assert moments == sorted(moments, key=lambda m: m.at)


def seen(*, b_begins: float, ends: float) -> list[Moment]:
    return [
        Moment(0, "a", What.SNAPSHOT_BEGIN, 1),
        Moment(10, "a", What.SNAPSHOT_END, 1),
        Moment(b_begins, "b", What.SNAPSHOT_BEGIN, 1),
        Moment(ends, "b", What.SNAPSHOT_END, 1),
        Moment(ends + 1, "coordinator", What.COMPLETE, 1),
        *(Moment(ends + 2, lane, What.NOTIFY, 1) for lane in "ab"),
    ]


def tell(
    monkeypatch: pytest.MonkeyPatch, folder: Path, chained: list[Moment], keyed: list[Moment]
) -> list[str]:
    """Tell the story with these moments instead of a Kafka, an HBase and a Spark; return what was said."""

    @contextmanager
    def staged(_story: Story, _name: str) -> Iterator[Stage]:
        yield stage(folder)

    @contextmanager
    def no_session(*_: object) -> Iterator[None]:
        yield

    given = {Arrangement.CHAINED: chained, Arrangement.KEYED: keyed}
    monkeypatch.setattr(timeline_story, "staged", staged)
    monkeypatch.setattr(timeline_story, "session", no_session)
    monkeypatch.setattr(timeline_story, "spark_conf", lambda *_: {})
    monkeypatch.setattr(timeline_story, "_one_checkpoint", lambda *arguments: given[arguments[-1]])
    said: list[str] = []
    run(Timeline(seconds=10, say=said.append))
    return said


def test_the_story_says_what_keyed_means_and_how_the_two_compare(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = tell(monkeypatch, tmp_path, seen(b_begins=10, ends=20), seen(b_begins=0, ends=10))
    assert "4. keyed: participants=[a, b], which means separate chains: a and b side by side" in said
    assert said[-1] == "Two snapshots of 10 s each: chained 20.0 s, keyed 10.0 s, ratio 2.00"


def test_chains_that_do_not_run_side_by_side_are_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one_after_the_other = seen(b_begins=10, ends=20)
    with pytest.raises(VerificationError) as caught:
        tell(monkeypatch, tmp_path, one_after_the_other, one_after_the_other)
    assert caught.value.why == (
        "keyed, but b began only after a had ended; "
        "chained took 1.00 times as long as keyed, not between 1.6 and 2.4 times"
    )
