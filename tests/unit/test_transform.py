from __future__ import annotations

from pathlib import Path

import pytest

from milepost.errors import PreflightError
from milepost.transform import load_function


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_function_beside_the_pipeline_file_is_found(folder: Path):
    (folder / "clean_one.py").write_text("def orders(rows):\n    return rows\n")
    assert load_function("clean_one:orders", "transform.python", folder)(1) == 1


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("clean", "named as module:function"),
        ("../clean:orders", "named as module:function"),
        ("/etc/passwd:x", "named as module:function"),
        ("os;system:x", "named as module:function"),
        ("no_such_module_here:f", "cannot be imported"),
        ("json:no_such_function", "has no function"),
    ],
)
def test_a_wrong_reference_is_refused(folder: Path, reference: str, sentence: str):
    with pytest.raises(PreflightError, match=sentence) as raised:
        load_function(reference, "transform.python", folder)
    assert raised.value.exit_code == 2


def test_a_module_with_a_mistake_is_refused_with_the_mistake(folder: Path):
    (folder / "clean_two.py").write_text("def orders(rows:\n")
    with pytest.raises(PreflightError, match="SyntaxError"):
        load_function("clean_two:orders", "transform.python", folder)
