"""Participants that a pipeline file names: objects, classes and factories, and what is none of them."""

from __future__ import annotations

from typing import Any

import pytest

from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.participants.loading import named_participants
from milepost.errors import PreflightError


class Audit:
    def snapshot_state(self, context: object) -> None:
        return None


class WithArguments(Audit):
    def __init__(self, folder: str) -> None:
        self.folder = folder


class Callable(Audit):
    """A participant that can be called, which is no reason to call it."""

    def __call__(self) -> object:
        raise AssertionError


def broken() -> object:
    raise ValueError("no such account")


def refuses() -> object:
    raise PreflightError("The account is locked", fix="Unlock it")


AUDIT = Audit()
CALLABLE = Callable()
KNOWN: dict[str, Any] = {
    "m:audit": AUDIT,
    "m:callable": CALLABLE,
    "m:Audit": Audit,
    "m:make": lambda: WithArguments("/data"),
    "m:WithArguments": WithArguments,
    "m:needs": lambda folder: WithArguments(folder),
    "m:nothing": lambda: None,
    "m:a_class": lambda: Audit,
    "m:Plain": dict,
    "m:number": 5,
    "m:listed": [AUDIT],
    "m:broken": broken,
    "m:refuses": refuses,
}


def made(*chains: str | tuple[str, ...]) -> list[Any]:
    return named_participants(chains, lambda reference, _key: KNOWN[reference])


def test_an_object_is_used_as_it_is() -> None:
    assert made("m:audit", "m:callable") == [AUDIT, CALLABLE]


def test_a_class_and_a_factory_are_called() -> None:
    of_class, of_factory = made("m:Audit", "m:make")
    assert type(of_class) is Audit
    assert of_factory.folder == "/data"


def test_an_inner_list_is_a_chain() -> None:
    first, chain = made("m:audit", ("m:callable", "m:Audit"))
    assert first is AUDIT
    assert [type(each) for each in chain] == [Callable, Audit]
    assert Participants([first, chain]).names == ("Audit", "Callable", "Audit-2")


@pytest.mark.parametrize(
    ("reference", "what", "why"),
    [
        ("m:WithArguments", "is the class WithArguments, which needs arguments", "'folder'"),
        ("m:needs", "is a function, which needs arguments", "'folder'"),
        ("m:nothing", "m:nothing returned None", "object with a hook"),
        ("m:a_class", "m:a_class returned the class Audit", "object with a hook"),
        ("m:Plain", "an object of m:Plain has no hook", "object with a hook"),
        ("m:number", "m:number is an int", "object with a hook"),
        ("m:listed", "m:listed is a list", "object with a hook"),
        ("m:broken", "m:broken raised ValueError", "no such account"),
    ],
)
def test_what_cannot_be_a_participant_is_refused_in_words_that_fit(
    reference: str, what: str, why: str
) -> None:
    with pytest.raises(PreflightError) as refused:
        made("m:audit", ("m:Audit", reference))
    assert refused.value.what.startswith("participants[1][1]")
    assert what in refused.value.what
    assert why in refused.value.why
    assert refused.value.fix


def test_an_error_of_ours_stays_what_it_is() -> None:
    with pytest.raises(PreflightError, match="The account is locked"):
        made("m:refuses")
