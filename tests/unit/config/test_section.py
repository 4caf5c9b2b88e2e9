"""Sections: frozen, strict, one ConfigError with every fault, and silent about secrets."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest
from pydantic import Field, ValidationError

from milepost.config.reading.faults import KeyFault
from milepost.config.section import Section
from milepost.config.values.secret import Secret
from milepost.config.values.value import Count, Duration, Text
from milepost.errors import ConfigError


class Inner(Section):
    """A section in a section."""

    some_text: Text = "x"
    low: Count = 0
    high: Count = 10
    pause: Duration | None = None

    def find_faults(self) -> Iterator[KeyFault]:
        if self.low > self.high:
            yield KeyFault(("low", "high"), "is above high")
        if self.low > 100:
            yield KeyFault(("low",), "is above 100")


class Outer(Section):
    """A section with another."""

    inner: Inner = Field(default_factory=Inner)
    names: tuple[Text, ...] = ()


def paths(error: ConfigError) -> list[str]:
    return [fault.path for fault in error.faults]


def test_both_spellings_are_accepted_in_python():
    assert Inner(some_text="a") == Inner(**{"some-text": "a"})  # type: ignore[arg-type]


def test_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        Inner().low = 5


def test_python_gets_one_error_with_every_fault():
    with pytest.raises(ConfigError, match="Inner is not valid") as caught:
        Inner(some_text=5, low=-1.5, hihg=1)  # type: ignore[call-arg,arg-type]
    assert paths(caught.value) == ["some_text", "low", "hihg"]


def test_faults_inside_are_gathered_with_those_outside():
    with pytest.raises(ConfigError) as caught:
        Outer(inner={"low": 200, "high": 1}, names="x")  # type: ignore[arg-type]
    assert paths(caught.value) == ["inner.low", "inner.low", "names"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])  # noqa: S301
def test_copies_are_equal_and_still_silent(copied):
    section = Outer(inner={"some_text": Secret("hunter2")}, names=(Secret("swordfish"), "b"))  # type: ignore[arg-type]
    again = copied(section)
    assert again == section
    assert not {"hunter2", "swordfish"} & set(repr(again).replace("'", " ").split())
    assert {"hunter2", "swordfish"} <= set(again.secrets())


@pytest.mark.parametrize("show", [repr, str, lambda s: str(s.redacted()), lambda s: f"{s}"])
def test_nothing_shows_a_secret(show):
    inner = Inner(some_text=Secret("hunter2"), low=Secret("75"), high=800, pause=Secret("47m"))  # type: ignore[arg-type]
    shown = show(Outer(inner=inner, names=(Secret("swordfish"),)))
    assert not any(secret in shown for secret in ("hunter2", "swordfish", "75", "47m", "2820"))
    assert "800" in shown


def test_an_error_shows_no_secret():
    with pytest.raises(ConfigError) as caught:
        Inner(low=Secret("hunter2"))  # type: ignore[arg-type]
    assert "hunter2" not in str(caught.value)


def test_redacted_has_the_keys_of_the_file():
    assert Inner(pause="90s").redacted() == {  # type: ignore[arg-type]
        "some-text": "x",
        "low": 0,
        "high": 10,
        "pause": "1m30s",
    }
