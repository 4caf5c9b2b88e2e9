"""References to the environment and to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from milepost.config.reading.interpolate import MAX_FILE_BYTES, Interpolation
from milepost.config.values.secret import Secret

ENVIRONMENT = {"PW": "hunter2", "EMPTY": "", "TRICK": "${env:PW}"}


@pytest.fixture
def interpolation(tmp_path: Path) -> Interpolation:
    return Interpolation(tmp_path, ENVIRONMENT)


@pytest.mark.parametrize(
    ("text", "result", "parts"),
    [
        ("${env:PW}", "hunter2", ("hunter2",)),
        ("user:${env:PW}@x", "user:hunter2@x", ("hunter2",)),
        ("${env:PW}${env:PW}", "hunter2hunter2", ("hunter2", "hunter2")),
        ("${env:EMPTY}", "", ("",)),
        ("${env:TRICK}", "${env:PW}", ("${env:PW}",)),
    ],
)
def test_variable_is_put_in_as_a_secret(
    interpolation: Interpolation, text: str, result: str, parts: tuple[str, ...]
):
    value = interpolation.apply(text)
    assert (type(value), value, value.parts) == (Secret, result, parts)
    assert interpolation.faults == []


@pytest.mark.parametrize(
    ("text", "result"),
    [("plain", "plain"), ("$${env:PW}", "${env:PW}"), ("a $ b", "a $ b"), ("$$", "$$"), (7, 7)],
)
def test_other_values_stay(interpolation: Interpolation, text: object, result: object):
    value = interpolation.apply(text)
    assert (type(value), value) == (type(result), result)
    assert interpolation.faults == []


@pytest.mark.parametrize(
    ("content", "result"), [("hunter2\n", "hunter2"), ("a\nb\n\n", "a\nb\n"), ("x\r\n", "x"), ("x", "x")]
)
def test_file_loses_one_newline(interpolation: Interpolation, tmp_path: Path, content: str, result: str):
    (tmp_path / "pw").write_bytes(content.encode())
    assert interpolation.apply("${file:pw}") == result
    assert interpolation.apply(f"${{file:{tmp_path}/pw}}") == result


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("${env:NOPE}", "environment variable NOPE is not set"),
        ("${env:}", "does not name an environment variable"),
        ("${env:A-B}", "does not name an environment variable"),
        ("${file:nope}", "file nope cannot be read: No such file"),
        ("${file:.}", "cannot be read"),
        ("${file:}", "does not name a file"),
        ("${file:a\0b}", "does not name a file"),
        ("${file:big}", "larger than 64 KiB"),
        ("${file:binary}", "not UTF-8"),
        ("${PW}", "is not supported"),
        ("${vault:pw}", "is not supported"),
        ("${env:PW", "without a closing }"),
    ],
)
def test_wrong_reference_is_a_fault(interpolation: Interpolation, tmp_path: Path, text: str, sentence: str):
    (tmp_path / "big").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    interpolation.apply({"a": {"b": [text]}})
    (fault,) = interpolation.faults
    assert fault.path == "a.b[0]"
    assert sentence in fault.message


def test_every_fault_is_gathered(interpolation: Interpolation):
    interpolation.apply({"a": "${env:X} ${env:Y}", "b": {"c": "${file:z}"}})
    assert [f.path for f in interpolation.faults] == ["a", "a", "b.c"]


def test_keys_are_left_alone(interpolation: Interpolation):
    assert interpolation.apply({"${env:PW}": 1}) == {"${env:PW}": 1}
