"""`milepost lineage`: what is typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from milepost.cli import app
from milepost.cli.inspect.lineage import parse_spot
from milepost.errors import PreflightError


def test_a_record_is_named_by_its_place() -> None:
    assert parse_spot("orders.v1:3:42") == ("orders.v1", 3, 42)


@pytest.mark.parametrize("text", ["orders", "orders:0", "orders:x:1", ":0:1", "orders:0:-1"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(PreflightError, match="is not a record"):
        parse_spot(text)


@pytest.mark.parametrize("arguments", [[], ["k0", "--offset", "orders:0:1"]])
def test_a_row_or_a_record_and_not_both(tmp_path: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["lineage", str(tmp_path / "x.yaml"), *arguments])
    assert isinstance(result.exception, PreflightError)
    assert "either a row key or --offset" in str(result.exception)
