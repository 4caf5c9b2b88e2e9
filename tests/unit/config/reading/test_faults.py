"""What pydantic finds, as sentences with the path the user typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, Tag, ValidationError

from milepost.config.reading.faults import (
    TAG,
    Finding,
    findings,
    without_secrets,
)
from milepost.config.section import Section
from milepost.config.values.secret import Secret
from milepost.config.values.value import (
    WORD,
    Count,
    Text,
    by_shape,
)


class Leaf(Section):
    """The innermost section."""

    some_words: Literal["fast", "slow"] = "fast"
    some_count: Annotated[Count, Field(ge=1)] = 1


class Shape(Section):
    """One shape of a choice."""

    column: Text


class Root(Section):
    """The outermost section."""

    leaf: Leaf | None = None
    leaves: Mapping[str, Leaf] = Field(default_factory=dict)
    choice: Annotated[
        Annotated[Literal["offset"], Tag(WORD)] | Annotated[Shape, Tag(TAG + "column")],
        by_shape("offset, {column: name}", {"column": Shape}),
    ] = "offset"
    needed: Text = "x"


CASES: list[tuple[Any, str, str]] = [
    ({"leaf": {"some-word": "fast"}}, "leaf.some-word", "is not a known key; did you mean some-words?"),
    ({"leaf": {"some_words": "fast"}}, "leaf.some_words", "is not a known key; did you mean some-words?"),
    ({"leaf": {"zzz": 1}}, "leaf.zzz", "is not a known key; valid keys are some-words, some-count"),
    ({"leaves": {"a": {"some-coutn": 1}}}, "leaves.a.some-coutn", "did you mean some-count?"),
    ({"choice": {"column": "x", "colunm": 1}}, "choice.colunm", "did you mean column?"),
    (
        {"leaf": {"some-words": "fats"}},
        "leaf.some-words",
        "one of fast, slow, not 'fats'; did you mean fast?",
    ),
    ({"leaf": {"some-words": ["fast"]}}, "leaf.some-words", "must be one of fast, slow"),
    ({"leaf": {"some-words": Secret("hunter2")}}, "leaf.some-words", "not ******"),
    ({"leaf": {"some-words": None}}, "leaf.some-words", "must be one of fast, slow"),
    ({"leaf": {"some-count": 0}}, "leaf.some-count", "must be at least 1"),
    ({"leaf": {"some-count": "x"}}, "leaf.some-count", "must be a whole number"),
    ({"leaf": {"some-count": None}}, "leaf.some-count", "has no value; give it one or remove the key"),
    ({"leaf": 5}, "leaf", "must be a mapping of keys to values"),
    ({"choice": "ofset"}, "choice", "must be offset, not 'ofset'; did you mean offset?"),
    ({"choice": {"x": 1}}, "choice", "must be one of offset, {column: name}"),
    ({"choice": {"column": 5}}, "choice.column", "must be text; put quotes around it"),
    ({"needed": 5}, "needed", "must be text; put quotes around it"),
]


@pytest.mark.parametrize(("tree", "path", "sentence"), CASES)
def test_fault_has_its_path_and_sentence(tree: Any, path: str, sentence: str):
    with pytest.raises(ValidationError) as caught:
        Root.model_validate(tree, context={"is_file": True})
    (found,) = findings(caught.value, Root, tree)
    assert found.place == path
    assert sentence in found.message


def test_message_is_freed_of_secrets():
    found = without_secrets(Finding(("a",), "not hunter2"), [Secret("hunter2")])
    assert found.message == "not ******"
