"""A participant that hangs is named, declines what comes next, and is heard of late; nobody waits for it for ever."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from tests.unit.checkpoint.recorder import (
    EIGHT,
    LONG,
    SEVEN,
    Acks,
    Hold,
    Recorder,
    join_chains,
    take,
)

from milepost.checkpoint.model import AckResult
from milepost.checkpoint.participants.chains import Participants
from milepost.errors import ParticipantError, SnapshotDeclined, SnapshotExpired


def expired(story: list[str], hold: Hold, acks: Acks) -> Participants:
    """Return participants of which 'hanging' is still in its snapshot of checkpoint 7, which has expired."""
    chain = [Recorder("quick", story), Recorder("hanging", story, snapshot=hold), Recorder("after", story)]
    participants = Participants([chain], wait=hold.wait)
    with pytest.raises(SnapshotExpired) as caught:
        take(participants, acks)
    assert caught.value.participants == ("hanging", "after")
    assert caught.value.what == (
        "Checkpoint 7 expired after 10 s: participants 'hanging', 'after' did not acknowledge"
    )
    assert caught.value.why == "'hanging' has not returned from snapshot_state of checkpoint 7"
    participants._wait = threading.Event.wait
    return participants


def test_who_hangs_expires_the_checkpoint_and_is_named(release: threading.Event):
    acks = Acks()
    expired([], Hold(release), acks)
    assert acks.names == ["quick"]


def test_what_comes_late_is_acknowledged_to_be_discarded_and_the_rest_of_the_chain_is_not_asked(
    release: threading.Event, caplog: pytest.LogCaptureFixture
):
    story: list[str] = []
    acks = Acks()
    expired(story, Hold(release, "late state"), acks)
    acks.answer = AckResult.DISCARDED
    release.set()
    join_chains()
    assert acks.names == ["quick", "hanging"]
    assert story == ["quick snapshot", "hanging snapshot"]
    assert caplog.messages == []


def test_the_next_checkpoint_is_declined_at_once_while_a_former_snapshot_hangs(release: threading.Event):
    story: list[str] = []
    acks = Acks()
    participants = expired(story, Hold(release), acks)
    with pytest.raises(SnapshotDeclined) as caught:
        take(participants, acks, EIGHT)
    assert caught.value.why == (
        "'hanging' has not returned from snapshot_state of checkpoint 7, which was given up, "
        "so its chain cannot begin another snapshot"
    )
    assert caught.value.participants == ("hanging",)
    assert story == ["quick snapshot", "hanging snapshot"]


def test_a_chain_that_came_back_takes_part_again(release: threading.Event):
    story: list[str] = []
    acks = Acks()
    participants = expired(story, Hold(release), acks)
    release.set()
    join_chains()
    del story[:]
    take(participants, acks, EIGHT)
    assert story == ["quick snapshot", "hanging snapshot", "after snapshot"]


def test_who_hangs_hears_the_news_late_and_in_order_and_nobody_waits_for_it(release: threading.Event):
    story: list[str] = []
    participants = expired(story, Hold(release), Acks(AckResult.SUCCESS))
    participants.notify_aborted(SEVEN, timeout=LONG)  # returns although the chain hangs
    assert "hanging aborted" not in story
    release.set()
    participants.initialize(None, timeout=LONG)
    names = ("quick", "hanging", "after")
    assert story[2:] == [f"{name} {what}" for what in ("aborted", "initialize") for name in names]


def test_a_start_waits_for_who_hangs_and_then_names_it(release: threading.Event):
    hold = Hold(release)
    participants = expired([], hold, Acks())
    participants._wait = hold.wait
    with pytest.raises(ParticipantError) as caught:
        participants.initialize(None, timeout=5)
    assert caught.value.what == (
        "initialize_state did not return within 5 s for participants 'quick', 'hanging', 'after'"
    )
    assert caught.value.why == "'hanging' has not returned from snapshot_state of checkpoint 7"


def test_a_start_that_was_given_up_is_not_begun_late(release: threading.Event):
    story: list[str] = []
    hold = Hold(release)
    participants = expired(story, hold, Acks())
    participants._wait = hold.wait
    with pytest.raises(ParticipantError):
        participants.initialize(None, timeout=5)
    release.set()
    join_chains()
    assert "quick initialize" not in story


def test_a_listener_that_hangs_declines_the_next_checkpoint_too(release: threading.Event):
    hold = Hold(release)
    participants = Participants([Recorder("a", [], complete=hold)], wait=hold.wait)
    with pytest.raises(
        ParticipantError,
        match="notify_checkpoint_complete of checkpoint 7 did not return within 5 s for participant 'a'",
    ):
        participants.notify_complete(SEVEN, timeout=5)
    with pytest.raises(
        SnapshotDeclined, match="'a' has not returned from notify_checkpoint_complete of checkpoint 7"
    ):
        take(participants, Acks(), EIGHT)


def test_an_interrupted_wait_gives_the_call_up(release: threading.Event):
    hold = Hold(release)

    def interrupted(settled: threading.Event, timeout: float) -> bool:
        hold.wait(settled, timeout)
        raise KeyboardInterrupt

    participants = Participants([Recorder("a", [], snapshot=hold)], wait=interrupted)
    with pytest.raises(KeyboardInterrupt):
        take(participants, Acks())
    with pytest.raises(SnapshotDeclined, match="which was given up"):
        take(participants, Acks(), EIGHT)


def test_a_participant_that_hangs_keeps_no_process_alive():
    code = """
import threading
from datetime import datetime, timezone
from milepost.checkpoint.participants.chains import Participants
from milepost.errors import SnapshotExpired

begun = threading.Event()

class Hanging:
    def snapshot_state(self, context):
        begun.set()
        threading.Event().wait()

try:
    Participants([Hanging()], wait=lambda settled, timeout: begun.wait() and False).snapshot(
        1, datetime.now(timezone.utc), timeout=1, acknowledge=print)
except SnapshotExpired as expired:
    print(*expired.participants)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "Hanging\n", "")


def test_who_comes_after_a_listener_that_hangs_is_told_late(release: threading.Event):
    story: list[str] = []
    hold = Hold(release)
    participants = Participants([[Recorder("a", story, complete=hold), Recorder("b", story)]], wait=hold.wait)
    with pytest.raises(ParticipantError) as caught:
        participants.notify_complete(SEVEN, timeout=5)
    assert caught.value.participants == ("a", "b")
    release.set()
    join_chains()
    assert story == ["a complete", "b complete"]
