"""Which names a module can have, without running it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from milepost.config.reading.module_names import bound_names


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_names_are_read_and_nothing_is_run(folder: Path) -> None:
    (folder / "names_one.py").write_text(
        "import os.path, json as j\n"
        "from sys import argv as words\n"
        "if words:\n    def inner(): pass\nelse:\n    inner = None\n"
        "class Audit: pass\n"
        "a, (b, *c) = 1, (2, 3)\n"
        "raise RuntimeError('it is run')\n"
    )
    names = bound_names("names_one")
    assert names is not None
    assert {"os", "j", "words", "inner", "Audit", "a", "b", "c"} <= names
    assert "json" not in names
    assert "names_one" not in sys.modules


def test_a_module_inside_a_package_is_found_without_running_the_package(folder: Path) -> None:
    (folder / "names_package").mkdir()
    (folder / "names_package" / "__init__.py").write_text("raise RuntimeError('it is run')\n")
    (folder / "names_package" / "clean.py").write_text("def orders(rows): return rows\n")
    assert "orders" in (bound_names("names_package.clean") or ())
    with pytest.raises(ImportError, match=r"No module named 'names_package\.missing'"):
        bound_names("names_package.missing")


@pytest.mark.parametrize(
    "source",
    [
        "from json import *\n",
        "def __getattr__(name): return name\n",
        "globals()['x'] = 1\n",
        "import sys\nsetattr(sys.modules[__name__], 'x', 1)\n",
    ],
)
def test_names_that_the_source_does_not_show_are_not_denied(folder: Path, source: str) -> None:
    (folder / "names_two.py").write_text(source)
    assert bound_names("names_two") is None


def test_what_is_imported_already_is_asked_itself() -> None:
    assert "bound_names" in (bound_names("milepost.config.reading.module_names") or ())


def test_modules_without_a_source_are_left_to_the_import(folder: Path) -> None:
    (folder / "names_space").mkdir()
    (folder / "names_space" / "inner.py").write_text("x = 1\n")
    assert bound_names("names_space.inner") is None


def test_a_module_that_cannot_be_there_or_be_compiled_is_refused(folder: Path) -> None:
    with pytest.raises(ImportError, match="No module named 'no_such_module_at_all'"):
        bound_names("no_such_module_at_all")
    (folder / "names_three.py").write_text("def orders(rows:\n")
    with pytest.raises(SyntaxError):
        bound_names("names_three")
