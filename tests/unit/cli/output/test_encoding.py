"""Letters for terminals that have few."""

from __future__ import annotations

import codecs
import os
import subprocess
import sys

import pytest

from milepost.cli.output.encoding import ERRORS, replace_unencodable, wants_ascii


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Waiting …", b"Waiting ..."),
        ("3 rows · lag 0", b"3 rows - lag 0"),
        ("╭─ Options ─╮", b"+- Options -+"),
        ("zähler", rb"z\xe4hler"),
        ("日本", rb"\u65e5\u672c"),
    ],
)
def test_what_ascii_does_not_have_is_written_in_what_it_has(text: str, written: bytes) -> None:
    codecs.register_error(ERRORS, replace_unencodable)
    assert text.encode("ascii", ERRORS) == written


def test_an_encoding_keeps_what_it_has() -> None:
    codecs.register_error(ERRORS, replace_unencodable)
    assert "zähler …".encode("latin-1", ERRORS) == b"z\xe4hler ..."


def test_reading_is_not_its_business() -> None:
    codecs.register_error(ERRORS, replace_unencodable)
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", ERRORS)


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({"LC_ALL": "C"}, True),
        ({"LANG": "POSIX"}, True),
        ({"LC_ALL": "C.UTF-8", "LANG": "C"}, False),
        ({}, False),
        ({"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}, False),
        ({"LC_ALL": "C", "PYTHONUTF8": "1"}, False),
    ],
)
def test_the_c_locale_is_taken_at_its_word(environment: dict[str, str], wanted: bool) -> None:
    assert wants_ascii(environment) is wanted


def in_c(*words: str) -> subprocess.CompletedProcess[bytes]:
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONIOENCODING", "PYTHONUTF8", "LC_CTYPE")
    }
    return subprocess.run(
        [sys.executable, "-m", "milepost", *words],
        env={**environment, "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("words", [["--help"], ["savepoint", "--help"], ["nothing"], ["status", "größe"]])
def test_nothing_but_ascii_is_written_in_the_c_locale(words: list[str]) -> None:
    said = in_c(*words)
    assert (said.stdout + said.stderr).isascii()
    assert b"Traceback" not in said.stderr
    assert rb"\u25" not in said.stdout + said.stderr, "a box is drawn with letters, not with escapes"
