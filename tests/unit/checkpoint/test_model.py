"""The values of the spine answer simple questions about themselves."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    CompletedCheckpoint,
    FailureReason,
    Kind,
    PendingCheckpoint,
    Trigger,
    kind_of,
)

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def ack(name: str, *, rows: int = 0, size: int = 0) -> Acknowledgement:
    return Acknowledgement(participant=name, at=NOW, rows=rows, bytes=size)


def test_a_pending_checkpoint_knows_who_is_missing() -> None:
    pending = PendingCheckpoint(
        checkpoint_id=CheckpointId(3),
        trigger=Trigger.PERIODIC,
        triggered_at=NOW,
        deadline=0.0,
        waiting_for=frozenset({"writer/0", "writer/1"}),
        acknowledged={"writer/0": ack("writer/0")},
    )
    assert pending.missing == {"writer/1"}


def test_a_completed_checkpoint_sums_by_kind_of_participant() -> None:
    completed = CompletedCheckpoint(
        checkpoint_id=CheckpointId(3),
        trigger=Trigger.ON_DEMAND,
        triggered_at=NOW,
        completed_at=NOW + timedelta(milliseconds=1500),
        job_id="j",
        epoch=1,
        acknowledgements=(ack("writer/0", rows=5, size=9), ack("writer/1", rows=2), ack("state/0", size=7)),
    )
    assert (completed.rows, completed.state_size, completed.duration_ms) == (7, 7, 1500)


def test_every_reason_has_a_sentence_of_its_own() -> None:
    sentences = [reason.sentence for reason in FailureReason]
    assert len(set(sentences)) == len(sentences)
    assert all(sentence.endswith(".") for sentence in sentences)


def test_a_participant_is_told_by_its_name() -> None:
    names = ("writer/0", "state/0", "sink.kafka", "engine", "audit", "writers")
    assert [kind_of(name) for name in names] == [
        Kind.WRITER,
        Kind.STATE,
        Kind.SINK,
        Kind.ENGINE,
        Kind.PARTICIPANT,
        Kind.PARTICIPANT,
    ]
