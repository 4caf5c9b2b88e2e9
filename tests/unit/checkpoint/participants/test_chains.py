"""Participants are asked in order within a chain and side by side between chains; what they leave is stored."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
from tests.unit.checkpoint.recorder import (
    LONG,
    NOW,
    SEVEN,
    Acks,
    Hold,
    Hook,
    Recorder,
    boom,
    completed,
    join_chains,
    leave,
    take,
)

from milepost.checkpoint.model import Acknowledgement, AckResult, CheckpointId
from milepost.checkpoint.participants.chains import Participants, Snapshot
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.errors import JobFailedError, ParticipantError, SnapshotDeclined


def test_in_one_chain_each_begins_when_the_one_before_it_is_acknowledged():
    story: list[str] = []
    participants = Participants([[Recorder(name, story) for name in "abc"]])

    def acknowledge(acknowledgement: Acknowledgement) -> AckResult:
        story.append(f"{acknowledgement.participant} acknowledged")
        return AckResult.SUCCESS

    participants.snapshot(SEVEN, NOW, timeout=LONG, acknowledge=acknowledge)
    assert story == [f"{name} {what}" for name in "abc" for what in ("snapshot", "acknowledged")]


@pytest.mark.parametrize("hook", ["initialize", "snapshot", "complete", "aborted"])
def test_chains_are_asked_side_by_side(hook: str):
    together = threading.Barrier(3, timeout=LONG)
    participants = Participants(
        [Recorder(name, [], **{hook: lambda _: together.wait() * 0}) for name in "abc"]
    )
    call_hook(participants, hook)  # returns only if all three were in their hooks at the same time
    assert not together.broken


def call_hook(participants: Participants, hook: str) -> None:
    if hook == "initialize":
        participants.initialize(None, timeout=LONG)
    elif hook == "snapshot":
        take(participants, Acks())
    elif hook == "complete":
        participants.notify_complete(SEVEN, timeout=LONG)
    else:
        participants.notify_aborted(SEVEN, timeout=LONG)


@pytest.mark.parametrize("hook", ["initialize", "snapshot", "complete", "aborted"])
def test_a_chain_is_asked_in_order_on_a_thread_that_is_not_the_callers(hook: str):
    story: list[str] = []
    threads: list[threading.Thread] = []
    note = {hook: lambda _: threads.append(threading.current_thread())}
    participants = Participants([[Recorder("a", story, **note), Recorder("b", story, **note)]])
    call_hook(participants, hook)
    assert story == [f"a {hook}", f"b {hook}"]
    assert threading.current_thread() not in threads
    assert all(thread.daemon and thread.name == "milepost-chain-a" for thread in threads)


def test_nobody_at_all_is_asked_without_a_thread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threading.Thread, "start", None)
    participants = Participants([])
    for hook in ("initialize", "snapshot", "complete", "aborted"):
        call_hook(participants, hook)
    assert participants.names == ()


# What is stored


def test_states_and_extra_values_of_all_chains_are_gathered():
    def attach(context: SnapshotContext) -> None:
        context.state = b"raw"
        context.attach("log id", context.checkpoint_id)

    story: list[str] = []
    participants = Participants(
        [
            [Recorder("a", story, snapshot=lambda _: {"n": 1}), Recorder("none", story)],
            Recorder("b", story, snapshot=attach),
        ]
    )
    assert take(participants, Acks()) == Snapshot(states={"a": {"n": 1}, "b": b"raw"}, extra={"log id": 7})


def test_later_changes_do_not_reach_what_was_stored():
    state = {"n": [1]}
    participants = Participants([Recorder("a", [], snapshot=lambda _: state)])
    snapshot = take(participants, Acks())
    state["n"].append(2)
    assert snapshot.states == {"a": {"n": [1]}}


def test_everybody_acknowledges_also_who_has_nothing_to_store():
    class Listener:
        def notify_checkpoint_complete(self, checkpoint_id):
            pass

    acks = Acks()
    participants = Participants([[Recorder("a", [], snapshot=lambda _: "four"), Listener()]], now=lambda: NOW)
    take(participants, acks)
    assert acks.names == list(participants.names) == ["a", "Listener"]
    assert [(ack.at, ack.bytes) for ack in acks.all] == [(NOW, 6), (NOW, 0)]


# Decline


@pytest.mark.parametrize(
    ("hook", "last_line"),
    [(boom, "ValueError: boom"), (leave, "SystemExit: 3")],
)
def test_a_raise_declines_with_the_users_own_traceback(hook: Hook, last_line: str):
    participants = Participants([Recorder("a", [], snapshot=hook)])
    with pytest.raises(SnapshotDeclined) as caught:
        take(participants, Acks())
    lines = caught.value.why.splitlines()
    functions = [line.rsplit(" in ", 1)[1] for line in lines if line.startswith("  File ")]
    assert caught.value.what == "Checkpoint 7 was declined by participant 'a'"
    assert (functions, lines[-1]) == (["snapshot_state", "_do", hook.__name__], last_line)


def test_a_state_that_cannot_be_stored_declines_and_is_not_acknowledged():
    acks = Acks()
    participants = Participants([Recorder("a", [], snapshot=lambda _: {"seen": {1}})])
    with pytest.raises(
        SnapshotDeclined, match="The state of participant 'a' cannot be stored: at seen there is a set"
    ):
        take(participants, acks)
    assert acks.names == []


def test_after_a_decline_the_rest_of_its_chain_is_not_asked():
    story: list[str] = []
    participants = Participants([[Recorder("a", story, snapshot=boom), Recorder("b", story)]])
    with pytest.raises(SnapshotDeclined):
        take(participants, Acks())
    join_chains()
    assert story == ["a snapshot"]


def test_a_decline_does_not_wait_for_the_other_chains(release: threading.Event):
    story: list[str] = []
    hold, acks = Hold(release), Acks()

    def boom_when_held(context: SnapshotContext) -> None:
        assert hold.begun.wait(LONG)
        boom(context)

    slow = [Recorder("slow", story, snapshot=hold), Recorder("next", story)]
    participants = Participants([slow, Recorder("a", story, snapshot=boom_when_held)])
    with pytest.raises(SnapshotDeclined, match="'a'"):
        take(participants, acks)
    acks.answer = AckResult.DISCARDED
    release.set()
    join_chains()
    assert acks.names == ["slow"]
    assert "next snapshot" not in story


@pytest.mark.parametrize(
    ("answer", "is_taken"),
    [
        (AckResult.SUCCESS, True),
        (AckResult.DUPLICATE, True),
        (AckResult.UNKNOWN, False),
        (AckResult.DISCARDED, False),
    ],
)
def test_a_snapshot_is_whole_or_declined_by_what_the_coordinator_answers(answer: AckResult, is_taken: bool):
    participants = Participants([Recorder("a", [], snapshot=lambda _: 1)])
    if is_taken:
        assert take(participants, Acks(answer)).states == {"a": 1}
    else:
        with pytest.raises(SnapshotDeclined, match=f"Its acknowledgement was {answer.name}"):
            take(participants, Acks(answer))


def test_an_error_of_the_coordinator_itself_is_not_taken_for_the_users():
    def broken(acknowledgement: Acknowledgement) -> AckResult:
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        Participants([Recorder("a", [])]).snapshot(SEVEN, NOW, timeout=LONG, acknowledge=broken)


def test_everybody_is_given_their_own_state_and_all_extra_values():
    given: dict[str, InitializationContext] = {}
    story: list[str] = []
    recorders = [Recorder(name, story, initialize=partial(given.__setitem__, name)) for name in "ab"]
    restored = completed(states={"a": {"n": [1]}, "gone": 1}, extra={"log": [9]})
    participants = Participants(recorders)
    participants.initialize(restored, timeout=LONG)
    assert [(c.is_restored, c.checkpoint_id, c.state, dict(c.extra)) for c in (given["a"], given["b"])] == [
        (True, 7, {"n": [1]}, {"log": [9]}),
        (True, 7, None, {"log": [9]}),
    ]
    given["a"].state["n"].append(2)
    given["a"].extra["log"].append(2)
    assert (restored.states["a"], restored.extra["log"], given["b"].extra["log"]) == ({"n": [1]}, [9], [9])


def test_a_fresh_start_gives_nothing():
    given: list[InitializationContext] = []
    Participants([Recorder("a", [], initialize=given.append)]).initialize(None, timeout=LONG)
    assert given == [InitializationContext()]


@pytest.mark.parametrize(
    ("states", "unclaimed"),
    [({}, ()), ({"a": 1}, ()), ({"b": 1, "a": 1, "A": 1}, ("A", "b"))],
)
def test_states_that_nobody_claims_are_named(states: dict[str, int], unclaimed: tuple[str, ...]):
    assert Participants([Recorder("a", [])]).unclaimed(completed(states=states)) == unclaimed


def test_a_raise_at_the_start_names_the_participant_and_shows_the_users_code():
    story: list[str] = []
    participants = Participants([[Recorder("a", story, initialize=boom), Recorder("b", story)]])
    with pytest.raises(ParticipantError) as caught:
        participants.initialize(None, timeout=LONG)
    assert caught.value.what == "Participant 'a' could not be initialized"
    assert caught.value.why.endswith("ValueError: boom")
    assert isinstance(caught.value.__cause__, ValueError)
    assert story == ["a initialize"]


def test_every_listener_is_told_even_if_others_raise_and_then_all_of_it_is_raised():
    story: list[str] = []
    chains = [
        [Recorder("a", story, complete=boom), Recorder("b", story)],
        [Recorder("c", story, complete=leave), Recorder("d", story)],
    ]
    with pytest.raises(ParticipantError) as caught:
        Participants(chains).notify_complete(SEVEN, timeout=LONG)
    assert sorted(story) == [f"{name} complete" for name in "abcd"]
    assert sorted(caught.value.participants) == ["a", "c"]
    assert "notify_checkpoint_complete of checkpoint 7 raised for participants '" in caught.value.what
    assert "ValueError: boom" in caught.value.why
    assert "SystemExit: 3" in caught.value.why


@pytest.mark.parametrize(
    ("calls", "heard"),
    [
        ([("complete", 7), ("complete", 7)], ["complete 7"]),
        ([("complete", 7), ("complete", 8)], ["complete 7", "complete 8"]),
        ([("aborted", 7), ("aborted", 7)], ["aborted 7"]),
        ([("aborted", 7), ("complete", 7)], ["aborted 7", "complete 7"]),
        ([("complete", 7), ("restart", 7), ("complete", 7)], ["complete 7"]),
        ([("complete", 7), ("restart", 5), ("complete", 7)], ["complete 7", "complete 7"]),
        ([("complete", 7), ("restart", None), ("complete", 7)], ["complete 7", "complete 7"]),
        ([("aborted", 7), ("restart", 6), ("aborted", 7)], ["aborted 7", "aborted 7"]),
        ([("raising", 7), ("complete", 7)], ["complete 7"]),
    ],
    ids=str,
)
def test_a_listener_hears_of_an_id_once_unless_the_id_comes_again(
    calls: list[tuple[str, Any]], heard: list[str]
):
    news: list[str] = []
    raising: list[bool] = []

    def complete(checkpoint_id: int) -> None:
        news.append(f"complete {checkpoint_id}")
        if raising:
            raise ValueError

    participants = Participants(
        [Recorder("a", [], complete=complete, aborted=lambda number: news.append(f"aborted {number}"))]
    )
    for what, number in calls:
        if what == "restart":
            participants.initialize(None if number is None else completed(number), timeout=LONG)
        elif what == "raising":
            raising.append(True)
            with pytest.raises(ParticipantError):
                participants.notify_complete(CheckpointId(number), timeout=LONG)
            raising.clear()
        else:
            tell = participants.notify_complete if what == "complete" else participants.notify_aborted
            tell(CheckpointId(number), timeout=LONG)
    assert news == heard


def test_a_built_in_participant_stands_beside_the_user_s_and_speaks_for_itself():
    class BuiltIn:
        def snapshot_state(self, context: SnapshotContext) -> None:
            raise JobFailedError("The sink is full", fix="Empty it")

    joined = Participants([Recorder("a", [])]).beside("sink.x", BuiltIn())
    assert joined.names[0] == "sink.x"
    with pytest.raises(JobFailedError, match=r"^The sink is full\. Empty it\.$"):
        take(joined, Acks())


def test_where_there_is_none_the_user_s_stay_as_they_are():
    own = Participants([Recorder("a", [])])
    assert own.beside("sink.x", None).names == own.names
