"""Who may take part, under which name, and what each is given."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import datetime, timezone
from typing import Any

import pytest

import milepost
from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.participants.participant import (
    ABORTED,
    COMPLETE,
    INITIALIZE,
    SNAPSHOT,
    CheckpointedFunction,
    CheckpointListener,
    InitializationContext,
    SnapshotContext,
    enlist,
)
from milepost.errors import ConfigError, ParticipantError

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Listener:
    def notify_checkpoint_complete(self, checkpoint_id):
        pass


class Named(Listener):
    def __init__(self, name: Any) -> None:
        self.name = name


class Function:
    def initialize_state(self, context):
        pass

    def snapshot_state(self, context):
        return 1


class Async:
    async def snapshot_state(self, context):
        return 1


class NotCallable:
    snapshot_state = "soon"


class OnlyInherits(CheckpointedFunction, CheckpointListener):
    pass


class InheritsTheRest(CheckpointedFunction, CheckpointListener):
    def snapshot_state(self, context: SnapshotContext) -> int:
        return 1


@pytest.mark.parametrize(
    ("chains", "names"),
    [
        ([], []),
        ([Function(), Listener()], [["Function"], ["Listener"]]),
        ([[Function(), Listener()]], [["Function", "Listener"]]),
        ([(Function(), Listener()), Listener()], [["Function", "Listener"], ["Listener-2"]]),
        ([Named("log-id")], [["log-id"]]),
        ([Named(""), Named(None), Named(7)], [["Named"], ["Named-2"], ["Named-3"]]),
        ([Named("a"), Named("a-2"), Named("a")], [["a"], ["a-2"], ["a-3"]]),
        ([Named("a"), Named("a"), Named("a-2")], [["a"], ["a-2"], ["a-2-2"]]),
    ],
)
def test_chains_and_names(chains: list[Any], names: list[list[str]]):
    assert [[member.name for member in chain] for chain in enlist(chains)] == names


@pytest.mark.parametrize(
    ("participant", "hooks"),
    [
        (Function(), {INITIALIZE, SNAPSHOT}),
        (Listener(), {COMPLETE}),
        (InheritsTheRest(), {SNAPSHOT}),
    ],
)
def test_a_member_has_the_hooks_that_do_something(participant: object, hooks: set[str]):
    ((member,),) = enlist([participant])
    assert set(member.hooks) == hooks


TWICE = Listener()


@pytest.mark.parametrize(
    ("chains", "faults"),
    [
        ([object()], ["participants[0]: an object has no hooks"]),
        ([Listener(), "a"], ["participants[1]: a str has no hooks"]),
        ([[Listener(), None]], ["participants[0][1]: a NoneType has no hooks"]),
        ([OnlyInherits()], ["participants[0]: an OnlyInherits has no hooks"]),
        ([NotCallable()], ["participants[0]: snapshot_state of a NotCallable is a str and cannot be called"]),
        ([Listener], ["participants[0]: Listener is a class, not an object of it; write Listener()"]),
        ([Async()], ["participants[0]: snapshot_state of an Async is async; hooks are called, not awaited"]),
        ([TWICE, [TWICE]], ["participants[1][0]: is there twice"]),
        ([[]], ["participants[0]: is a chain without participants"]),
        ([[[Listener()]]], ["participants[0][0]: a list has no hooks"]),
        (
            [Named("writer/0"), Named("state/0")],
            [
                f"participants[{i}]: the name '{n}/0' begins like those of built-in participants "
                "(writer/, state/, sink.)"
                for i, n in enumerate(("writer", "state"))
            ],
        ),
    ],
)
def test_what_cannot_take_part_is_refused_with_its_place(chains: list[Any], faults: list[str]):
    with pytest.raises(ConfigError) as caught:
        enlist(chains)
    assert [str(fault) for fault in caught.value.faults] == faults


def test_every_fault_is_listed_at_once():
    with pytest.raises(ConfigError) as caught:
        enlist([object(), Listener(), [NotCallable()]])
    assert [fault.path for fault in caught.value.faults] == ["participants[0]", "participants[2][0]"]


@pytest.mark.parametrize("wrong", [Listener(), "ab", None, {"a": Listener()}])
def test_participants_are_a_list(wrong: Any):
    with pytest.raises(ConfigError, match="not a list"):
        enlist(wrong)


@pytest.mark.parametrize(
    ("context", "is_restored"),
    [
        (InitializationContext(), False),
        (InitializationContext(checkpoint_id=CheckpointId(0)), True),
        (InitializationContext(checkpoint_id=CheckpointId(4), state={"a": 1}, extra={"b": 2}), True),
    ],
)
def test_restored_is_who_resumes_from_a_checkpoint_be_there_state_or_not(
    context: InitializationContext, is_restored: bool
):
    assert context.is_restored is is_restored


def test_what_is_given_at_the_start_cannot_be_changed():
    context = InitializationContext()
    with pytest.raises(FrozenInstanceError):
        context.state = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        context.extra["a"] = 1  # type: ignore[index]


def snapshot_context() -> SnapshotContext:
    return SnapshotContext("p", CheckpointId(7), NOW)


@pytest.mark.parametrize(
    ("is_set", "returned", "stored"),
    [
        (None, None, None),
        ("set", None, "set"),
        (None, "returned", "returned"),
        ("set", "returned", "returned"),
        (1, 0, 0),
    ],
)
def test_the_state_is_what_was_returned_or_else_what_was_set(is_set: Any, returned: Any, stored: Any):
    context = snapshot_context()
    context.state = is_set
    assert context.end(returned) == (stored, {})


def test_a_value_is_copied_when_it_is_attached_and_a_key_may_be_attached_again():
    context, value = snapshot_context(), [1]
    context.attach("log", value)
    value.append(2)
    context.attach("other", 1)
    context.attach("other", b"2")
    assert context.end(None) == (None, {"log": [1], "other": b"2"})


@pytest.mark.parametrize("key", ["", None, 7])
def test_a_key_is_a_text(key: Any):
    with pytest.raises(ParticipantError, match="A key is a str and not empty"):
        snapshot_context().attach(key, 1)


def test_nothing_can_be_attached_when_the_snapshot_has_ended():
    context = snapshot_context()
    context.end(None)
    with pytest.raises(
        ParticipantError, match="The snapshot of checkpoint 7 has ended: 'late' cannot be attached"
    ):
        context.attach("late", 1)


def test_a_context_says_which_checkpoint_it_belongs_to():
    context = snapshot_context()
    assert (context.checkpoint_id, context.timestamp) == (7, NOW)
    with pytest.raises(AttributeError):
        context.checkpoint_id = 8  # type: ignore[misc,assignment]


def test_the_words_for_users_are_exported():
    assert (
        milepost.CheckpointedFunction,
        milepost.CheckpointListener,
        milepost.InitializationContext,
        milepost.SnapshotContext,
    ) == (CheckpointedFunction, CheckpointListener, InitializationContext, SnapshotContext)


def test_every_hook_has_its_word():
    assert {INITIALIZE, SNAPSHOT} <= set(dir(CheckpointedFunction))
    assert {COMPLETE, ABORTED} <= set(dir(CheckpointListener))
