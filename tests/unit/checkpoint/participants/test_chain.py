"""A chain runs one thing at a time on a thread that ends; a call knows who is missing and what is late."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.participants import chain as module
from milepost.checkpoint.participants.chain import Call, Chain
from milepost.checkpoint.participants.participant import Member

LONG = 10.0


def call(*names: str) -> Call:
    return Call("snapshot_state", CheckpointId(7), names)


def members(*names: str) -> tuple[Member, ...]:
    return tuple(Member(name, {}) for name in names)


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Let everything go on that was held, and see every thread of a chain end."""
    event = threading.Event()
    yield event
    event.set()
    for thread in threading.enumerate():
        if thread.name.startswith("milepost-chain-"):
            thread.join(LONG)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("names", "returned", "is_settled", "missing"),
    [
        ([], [], True, ()),
        (["a", "b"], [], False, ("a", "b")),
        (["a", "b"], ["a"], False, ("b",)),
        (["a", "b"], ["b", "a"], True, ()),
        (["a", "b"], ["a", "a"], False, ("b",)),
        (["a"], ["stranger"], False, ("a",)),
    ],
)
def test_a_call_is_settled_when_nobody_is_missing(
    names: list[str], returned: list[str], is_settled: bool, missing: tuple[str, ...]
):
    one = call(*names)
    for name in returned:
        one.returned(name)
    assert (one.settled.is_set(), one.end()) == (is_settled, missing)


def test_a_failure_counts_while_somebody_waits_and_is_logged_by_its_kind_afterwards(
    caplog: pytest.LogCaptureFixture,
):
    one, early = call("a", "b"), ValueError("early")
    one.returned("a", early)
    assert one.end() == ("b",)
    with caplog.at_level(logging.WARNING):
        one.returned("b", ValueError("the password"))
    assert one.failures == {"a": early}
    assert caplog.messages == [
        "Participant 'b' ended snapshot_state of checkpoint 7 with ValueError after the call was over."
    ]


@pytest.mark.parametrize(
    ("checkpoint_id", "text"),
    [(None, "initialize_state"), (CheckpointId(0), "initialize_state of checkpoint 0")],
)
def test_a_call_names_itself(checkpoint_id: CheckpointId | None, text: str):
    assert str(Call("initialize_state", checkpoint_id, [])) == text


def test_members_run_in_order_on_one_daemon_thread_with_a_name(release: threading.Event):
    seen: list[tuple[str, threading.Thread]] = []
    chain, one = Chain(members("a", "b", "c")), call("a", "b", "c")
    chain.run(chain.members, one, lambda member: seen.append((member.name, threading.current_thread())))
    assert one.settled.wait(LONG)
    thread = seen[0][1]
    assert [name for name, _ in seen] == ["a", "b", "c"]
    assert {other for _, other in seen} == {thread}
    assert (thread.daemon, thread.name) == (True, "milepost-chain-a")


def test_the_thread_ends_when_nothing_is_left_and_another_comes_when_it_is_needed(release: threading.Event):
    chain, threads = Chain(members("a")), []
    for _ in range(2):
        one = call("a")
        chain.run(chain.members, one, lambda member: threads.append(threading.current_thread()))
        assert one.settled.wait(LONG)
        threads[-1].join(LONG)
        assert not threads[-1].is_alive()
    assert len(set(threads)) == 2


def test_what_is_posted_while_a_chain_is_busy_waits_its_turn(release: threading.Event):
    chain, order = Chain(members("a")), []
    first, second = call("a"), call("a")

    def hold(member: Member) -> None:
        assert release.wait(LONG)
        order.append("first")

    chain.run(chain.members, first, hold)
    chain.tell(chain.members, second, lambda member: order.append("second"))
    assert not second.settled.is_set()
    release.set()
    assert second.settled.wait(LONG)
    assert order == ["first", "second"]


@pytest.mark.parametrize(("way", "seen"), [("run", ["a"]), ("tell", ["a", "b"])])
def test_after_a_raise_a_run_ends_and_news_go_on(way: str, seen: list[str], release: threading.Event):
    chain, one, steps, error = Chain(members("a", "b")), call("a", "b"), [], SystemExit(1)

    def step(member: Member) -> None:
        steps.append(member.name)
        if member.name == "a":
            raise error

    getattr(chain, way)(chain.members, one, step)
    assert one.settled.wait(LONG)
    release_and_join(release)
    assert (steps, one.failures) == (seen, {"a": error})


@pytest.mark.parametrize(("way", "seen"), [("run", ["a"]), ("tell", ["a", "b"])])
def test_when_nobody_waits_any_more_a_run_ends_and_news_go_on(
    way: str, seen: list[str], release: threading.Event
):
    chain, one, steps, begun = Chain(members("a", "b")), call("a", "b"), [], threading.Event()

    def step(member: Member) -> None:
        steps.append(member.name)
        begun.set()
        assert release.wait(LONG)

    getattr(chain, way)(chain.members, one, step)
    assert begun.wait(LONG)
    assert one.end() == ("a", "b")
    release_and_join(release)
    assert steps == seen


def test_a_chain_says_what_it_is_in_and_whether_that_was_given_up(release: threading.Event):
    chain, one, begun = Chain(members("a")), call("a"), threading.Event()

    def hold(member: Member) -> None:
        begun.set()
        assert release.wait(LONG)

    assert (chain.running, chain.given_up) == (None, None)
    chain.run(chain.members, one, hold)
    assert begun.wait(LONG)
    assert (str(chain.running), chain.given_up) == (
        "'a' has not returned from snapshot_state of checkpoint 7",
        None,
    )
    one.end()
    assert chain.given_up == chain.running
    release_and_join(release)
    assert (chain.running, chain.given_up) == (None, None)


def test_a_chain_without_members_for_a_hook_needs_no_thread():
    chain, one = Chain(members("a")), call()
    chain.run(chain.having("snapshot_state"), one, lambda member: None)
    chain.tell(chain.having("snapshot_state"), one, lambda member: None)
    assert [t for t in threading.enumerate() if t.name == "milepost-chain-a"] == []


def test_the_queue_of_a_chain_that_hangs_is_bounded_and_keeps_the_newest(release: threading.Event):
    chain, told, begun = Chain(members("a")), [], threading.Event()

    def hold(member: Member) -> None:
        begun.set()
        assert release.wait(LONG)

    chain.run(chain.members, call("a"), hold)
    assert begun.wait(LONG)
    for number in range(module._LONGEST_QUEUE + 5):
        chain.tell(chain.members, call("a"), partial(lambda number, _: told.append(number), number))
    release_and_join(release)
    assert told == list(range(5, module._LONGEST_QUEUE + 5))


def test_a_thread_that_cannot_start_is_told_and_not_counted(
    monkeypatch: pytest.MonkeyPatch, release: threading.Event
):
    chain, one, steps = Chain(members("a")), call("a"), []

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            chain.run(chain.members, one, lambda member: steps.append("refused"))
    chain.run(chain.members, one, lambda member: steps.append("begun"))
    assert one.settled.wait(LONG)
    assert steps == ["begun"]


def release_and_join(release: threading.Event) -> None:
    release.set()
    for thread in threading.enumerate():
        if thread.name.startswith("milepost-chain-"):
            thread.join(LONG)
