"""The public API: every name exists, none imports Spark before it is used, and all of it is documented."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import milepost
from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
RETURNING = (milepost.Pipeline, milepost.RunningPipeline)


def classes_in(annotation: Any) -> set[type]:
    """Return our own classes that an annotation names."""
    is_ours = isinstance(annotation, type) and annotation.__module__.startswith("milepost")
    found = {annotation} if is_ours else set()
    return found.union(*map(classes_in, typing.get_args(annotation)))


def returned_classes() -> set[type]:
    found: set[type] = set()
    for owner in RETURNING:
        for name, member in inspect.getmembers(owner):
            function = member.fget if isinstance(member, property) else member
            if not name.startswith("_") and inspect.isfunction(function):
                found |= classes_in(typing.get_type_hints(function)["return"])
    return found


def test_every_name_is_there() -> None:
    assert {name for name in milepost.__all__ if not hasattr(milepost, name)} == set()


def test_the_package_alone_imports_no_spark() -> None:
    check = "import sys, milepost; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_everything_that_the_api_returns_is_exported() -> None:
    returned = returned_classes()
    assert {CompletedCheckpoint, FailedCheckpoint, milepost.RunningPipeline} <= returned
    assert {each.__name__ for each in returned} <= set(milepost.__all__)


def test_every_name_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in milepost.__all__ if f"`{name}" not in page] == []


def test_every_method_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    methods = [name for owner in RETURNING for name in vars(owner) if not name.startswith("_")]
    assert [name for name in methods if f"`{name}" not in page] == []
