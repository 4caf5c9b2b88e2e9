from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkImportError

from milepost.errors import PreflightError
from milepost.transform import apply, is_installed, load_function, load_object


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
        ("clean", "written as module:function"),
        ("../clean:orders", "written as module:function"),
        ("/etc/passwd:x", "written as module:function"),
        ("os;system:x", "written as module:function"),
        ("no_such_module_here:f", "cannot be imported"),
        ("json:no_such_function", "has no function"),
        ("json:__name__", "has no function '__name__'"),
    ],
)
def test_a_wrong_reference_is_refused(folder: Path, reference: str, sentence: str):
    with pytest.raises(PreflightError, match=sentence) as raised:
        load_function(reference, "transform.python", folder)
    assert raised.value.exit_code == 2


def test_an_object_of_any_kind_is_found_by_its_name(folder: Path):
    (folder / "clean_three.py").write_text("ledger = 5\n")
    assert load_object("clean_three:ledger", "participants[0]", folder) == 5
    with pytest.raises(PreflightError, match="participants\\[0\\]: 'clean_three' has no 'legder'") as raised:
        load_object("clean_three:legder", "participants[0]", folder)
    assert "Did you mean 'ledger'?" in raised.value.fix


def test_a_module_with_a_mistake_is_refused_with_the_mistake(folder: Path):
    (folder / "clean_two.py").write_text("def orders(rows:\n")
    with pytest.raises(PreflightError, match="SyntaxError"):
        load_function("clean_two:orders", "transform.python", folder)


def test_a_package_that_is_missing_is_named_with_the_extra_that_brings_it():
    def transformation(_rows: object) -> None:
        raise PySparkImportError(
            errorClass="PACKAGE_NOT_INSTALLED",
            messageParameters={"package_name": "Pandas", "minimum_version": "2.2.0"},
        )

    with pytest.raises(PreflightError, match=r"Pandas >= 2\.2\.0") as raised:
        apply(transformation, {"source": None}, "transform.python")  # type: ignore[arg-type,dict-item]
    assert "milepost[python-state]" in raised.value.fix


@pytest.mark.parametrize(
    ("name", "installed"), [("json.decoder", True), ("json.nothing", False), ("nowhere.at.all", False)]
)
def test_a_module_in_a_package_that_is_not_there_is_not_installed(name: str, installed: bool):
    assert is_installed(name) is installed
