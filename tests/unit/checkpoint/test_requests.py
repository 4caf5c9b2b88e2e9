"""Who waits for which checkpoint, and what is stored in which."""

from __future__ import annotations

from milepost.checkpoint.model import Trigger
from milepost.checkpoint.requests import Attachments, Request, Requests


def asked(requests: Requests) -> Request:
    request = Request()
    requests.add(request)
    return request


def test_each_is_served_by_the_checkpoint_that_was_triggered_after_it() -> None:
    requests = Requests()
    first = asked(requests)
    requests.trigger()
    second = asked(requests)
    requests.seal()
    assert requests.complete() == [first]
    assert requests.has(Trigger.ON_DEMAND), "the second still waits"
    requests.trigger()
    requests.seal()
    assert requests.complete() == [second]
    assert not requests.has(Trigger.ON_DEMAND)


def test_what_is_asked_for_is_told_apart() -> None:
    requests = Requests()
    requests.add(Request(lambda _: None))
    assert requests.has(Trigger.SAVEPOINT)
    assert not requests.has(Trigger.ON_DEMAND)
    requests.add(Request(trigger=Trigger.SYNC_SAVEPOINT))
    assert requests.has(Trigger.SYNC_SAVEPOINT)


def test_a_failure_reaches_those_whose_checkpoint_was_begun_and_nobody_else() -> None:
    requests = Requests()
    sealing = asked(requests)
    requests.trigger()
    requests.seal()
    triggered = asked(requests)
    requests.trigger()
    waiting = asked(requests)
    assert requests.fail() == [sealing, triggered]
    assert requests.refuse() == [waiting]
    assert requests.complete() == []


def test_a_request_cannot_be_cancelled() -> None:
    assert not Request().cancel()


def test_what_is_attached_goes_into_one_checkpoint() -> None:
    attachments = Attachments()
    attachments.add("a", 1)
    assert attachments.take() == {"a": 1}
    attachments.add("a", None)
    attachments.complete()
    assert attachments.take() == {"a": None}
    attachments.complete()
    assert attachments.take() == {}


def test_after_a_failure_it_goes_into_the_next_one_and_the_newer_value_counts() -> None:
    attachments = Attachments()
    attachments.add("a", 1)
    attachments.add("b", 2)
    attachments.take()
    attachments.add("a", 3)
    attachments.give_back()
    assert attachments.take() == {"a": 3, "b": 2}
