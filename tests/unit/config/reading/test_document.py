"""B28, the YAML half: what is refused, and on which line."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.config.reading.document import (
    MAX_BYTES,
    DocumentError,
    key_path,
    parse_document,
)

BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
REFUSED = [
    ("a:\n\tb: 1", 2, "tab where YAML requires spaces"),
    ("a: 1\nb: 2\na: 3", 3, "duplicate of the key on line 1"),
    ("a:\n  b: 1\n  b: 2", 3, "duplicate of the key on line 2"),
    ("a: {0: x, '0': y}", 1, "duplicate of the key"),
    ("a: !!python/object/apply:os.system [id]", 1, "has a tag python/object/apply:os.system"),
    ("a: !!python/name:os.system", 1, "has a tag"),
    ("a: !mine x", 1, "has a tag"),
    ("a: !foo!bar x", 1, "has a tag"),
    ("a: !!int x", 1, "does not match"),
    ("a: &x [*x]", 1, "contains itself"),
    ("a: &x {b: *x}", 1, "contains itself"),
    (BOMB, 5, "after its aliases are expanded"),
    ("a: &a [1]\nb: [" + ", ".join(["*a"] * 20_001) + "]", 2, "after its aliases"),
    ("a: " + "[" * 100 + "]" * 100, 1, "nested deeper"),
    ("- " * 5000 + "x", 1, "nested deeper"),
    ("a: 1\n---\na: 2", 2, "second document"),
    ("a: [1, 2", 1, "is not YAML"),
    ("a: b: c", 1, "is not YAML"),
    ("<<: {a: 1}", 1, "merge keys"),
    ("? [a]\n: 1", 1, "not plain text"),
    ("a: *nowhere", 1, "starts with"),
    ("a: 'x\0'", None, "is not YAML"),
    ("x" * (MAX_BYTES + 1), None, "larger than 1 MiB"),
    ("é" * (MAX_BYTES // 2 + 1), None, "larger than 1 MiB"),
]


def refusal(text: str) -> str:
    """Return what was said against a text, or nothing; any other exception is a bug."""
    try:
        parse_document(text)
    except DocumentError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("text", "line", "sentence"), REFUSED, ids=[r[2] + str(i) for i, r in enumerate(REFUSED)]
)
def test_refused_with_its_line(text: str, line: int | None, sentence: str):
    began = time.monotonic()
    with pytest.raises(DocumentError, match=sentence) as caught:
        parse_document(text)
    assert caught.value.faults[0].line == line
    assert time.monotonic() - began < 10


def test_every_duplicate_is_named_with_its_path():
    with pytest.raises(DocumentError) as caught:
        parse_document("a:\n  b: 1\n  b: 2\nc: 1\nc: 2")
    assert [f.path for f in caught.value.faults] == ["a.b", "c"]


@pytest.mark.parametrize(
    "text", ["pw: *hunter2", "pw: !hunter2", "pw: &hunter2", "pw: !hunter2!x y", "pw: @hunter2"]
)
def test_no_fault_repeats_what_may_be_an_unquoted_password(text: str):
    assert "hunter2" not in refusal(text)


def test_only_plain_values_come_out():
    text = "a: no\nb: 010\nc: 2026-01-01\nd: 1:30\ne: true\nf: ~\ng:\nh: -3\ni: 1.5\nj: '5'\nk: on\nl: 1_000"
    assert parse_document(text).values == {
        "a": "no",
        "b": "010",
        "c": "2026-01-01",
        "d": "1:30",
        "e": True,
        "f": None,
        "g": None,
        "h": -3,
        "i": 1.5,
        "j": "5",
        "k": "on",
        "l": "1_000",
    }


def test_keys_are_text_or_whole_numbers():
    assert parse_document("{0: a, true: b, null: c, 1.5: d}").values == {
        0: "a",
        "true": "b",
        "null": "c",
        "1.5": "d",
    }


def test_few_aliases_are_fine():
    assert parse_document("a: &x [1]\nb: *x\nc: [*x, *x]").values == {"a": [1], "b": [1], "c": [[1], [1]]}


def test_lines_of_keys_are_known():
    assert parse_document("a:\n  b: 1\n  c:\n    - d: 2\n").lines == {
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "c"): 3,
        ("a", "c", 0, "d"): 4,
    }


def test_empty_text_is_none():
    assert parse_document("# nothing\n").values is None


def test_key_path_is_as_typed():
    assert key_path(("source", "kafka", "topics", 0)) == "source.kafka.topics[0]"


@given(st.text(alphabet=st.sampled_from(list("ab:-[]{},&*!?|>%@`\"'# \n\t~0.1é\0\ud800"))))
def test_nothing_but_a_document_error(text: str):
    assert refusal(text) is not None
