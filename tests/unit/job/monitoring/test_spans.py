"""Checkpoints and starts as spans."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.unit.checkpoint.rig import START, checkpoint

from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    FailedCheckpoint,
    FailureReason,
    Trigger,
)
from milepost.job.monitoring.spans import of_completed, of_failed, of_initialization

SECOND = timedelta(seconds=1)
COMPLETED = replace(
    checkpoint(7),
    triggered_at=START,
    completed_at=START + 3 * SECOND,
    acknowledgements=(
        Acknowledgement(participant="writer/1", at=START + SECOND, duration_ms=400, rows=5, bytes=50),
        Acknowledgement(participant="state/0", at=START + 2 * SECOND, duration_ms=100, bytes=1024),
    ),
)


def test_a_completed_checkpoint_has_flinks_attributes():
    span = of_completed(COMPLETED)
    assert (span.name, span.start, span.end, span.error) == ("Checkpoint", START, START + 3 * SECOND, None)
    expected = {
        "checkpointId": 7,
        "checkpointedSize": 1024,
        "fullSize": 1024,
        "checkpointStatus": "COMPLETED",
        "checkpointType": "Checkpoint",
        "isUnaligned": "false",
    }
    assert expected.items() <= span.attributes.items()


def test_participants_and_the_end_are_its_children():
    writer, state, storing = of_completed(COMPLETED).children
    assert (writer.name, writer.attributes["subtaskId"], writer.attributes["rows"]) == (
        "Checkpoint_Subtask",
        1,
        5,
    )
    assert (writer.end - writer.start) == timedelta(milliseconds=400)
    assert (state.attributes["participant"], "subtaskId" in state.attributes) == ("state/0", False)
    assert (storing.name, storing.start, storing.end) == (
        "Checkpoint_Complete",
        START + 2 * SECOND,
        START + 3 * SECOND,
    )


def test_a_savepoint_is_told_from_a_checkpoint():
    span = of_completed(replace(COMPLETED, trigger=Trigger.SAVEPOINT))
    assert span.attributes["checkpointType"] == "Savepoint"


def test_a_failed_checkpoint_says_why():
    span = of_failed(
        FailedCheckpoint(
            checkpoint_id=CheckpointId(8),
            trigger=Trigger.PERIODIC,
            triggered_at=START,
            failed_at=START + SECOND,
            reason=FailureReason.CHECKPOINT_DECLINED,
            detail="audit: no",
        )
    )
    assert span.attributes["checkpointStatus"] == "FAILED"
    assert span.attributes["failureReason"] == "CHECKPOINT_DECLINED"
    assert span.error == "A participant declined it. audit: no"


def test_a_start_names_what_it_began_from():
    assert of_initialization(START, START + SECOND, COMPLETED).attributes == {
        "initializationStatus": "COMPLETED",
        "checkpointId": 7,
        "fullSize": 1024,
    }
    assert "checkpointId" not in of_initialization(START, START + SECOND, None).attributes
