"""A cell travels as one line of text."""

from __future__ import annotations

from milepost.verify.table import parse_line


def test_a_put_is_read() -> None:
    assert parse_line("7200\td\t71\t7\tPut\tFF") == (b"r\0", "d", b"q", 7, "Put", b"\xff")


def test_a_family_marker_has_neither_qualifier_nor_value() -> None:
    assert parse_line("72\td\t\t7\tDeleteFamily\t") == (b"r", "d", b"", 7, "DeleteFamily", b"")
