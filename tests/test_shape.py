"""The shape of the repository as tests: sizes, names, import layers, pages that say what the code says."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from milepost.config import load_config

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "milepost"

MODULE_LINES = 500
FUNCTION_LINES = 60
PARAMETERS = 8
JAVA_LINES = 350
README_LINES = 60

FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "core", "manager", "misc", "types"}

# Modules whose behaviour only shows with a JVM or a process around it; the value says where it is tested.
WITHOUT_UNIT_TEST: dict[str, str] = {
    "api.py": "tests/system/test_api.py",
    "cli/migrate/adopt.py": "tests/system/test_adopt.py",
    "cli/migrate/export.py": "tests/system/test_adopt.py",
    "cli/argument/arguments.py": "tests/system/test_pipeline.py",
    "cli/run/check.py": "tests/system/test_pipeline.py",
    "cli/run/foreground.py": "tests/system/test_pipeline.py",
    "cli/run/run.py": "tests/system/test_pipeline.py",
    "checkpoint/ports.py": "protocols and values only; tests/unit/checkpoint/test_coordinator.py",
    "engine.py": "tests/spark/test_origin.py",
    "cli/migrate/repartition.py": "tests/system/test_state_backends.py",
    "migrate/repartition.py": "tests/system/test_state_backends.py",
    "job/open.py": "tests/system/test_pipeline.py",
    "job/prepare.py": "tests/system/test_pipeline.py",
    "job/spec.py": "values only; tests/system/test_start_semantics.py",
    "job/start.py": "tests/system/test_pipeline.py",
    "job/spark/settings.py": "tests/system/test_state_backends.py",
    "job/startup/table_ownership.py": "tests/system/test_table_writers.py",
    "pipeline.py": "tests/system/test_pipeline.py",
    "sink/claim.py": "tests/system/test_table_writers.py",
    "sink/newest_versions.py": "tests/system/test_table_writers.py",
    "sink/stage.py": "protocols and values only; tests/system/test_pipeline.py",
}

MODULES = sorted(p for p in PACKAGE.rglob("*.py") if "jars" not in p.relative_to(PACKAGE).parts)
PYTHON = MODULES + sorted(p for folder in ("tests", "bench") for p in (ROOT / folder).rglob("*.py"))
JAVA = sorted(p for p in (ROOT / "java").rglob("*.java") if "target" not in p.parts)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@cache
def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def height(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or 0) - function.lineno + 1


def parameter_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([a for a in named if a.arg not in ("self", "cls")])


def exported(path: Path) -> list[str] | None:
    for node in tree(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else ()
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
            return list(ast.literal_eval(node.value))  # type: ignore[attr-defined]
    return None


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)


def test_there_is_something_to_check():
    assert MODULES
    assert JAVA


def test_modules_are_small():
    assert {name(p): line_count(p) for p in PYTHON if line_count(p) > MODULE_LINES} == {}


def test_functions_are_short():
    long = [f"{name(p)}: {f.name}" for p in PYTHON for f in functions(p) if height(f) > FUNCTION_LINES]
    assert long == []


def test_functions_are_narrow():
    wide = [f"{name(p)}: {f.name}" for p in PYTHON for f in functions(p) if parameter_count(f) > PARAMETERS]
    assert wide == []


def test_java_classes_are_small():
    assert {name(p): line_count(p) for p in JAVA if line_count(p) > JAVA_LINES} == {}


def test_modules_say_what_they_are():
    assert [name(p) for p in MODULES if not ast.get_docstring(tree(p))] == []


def test_exported_names_are_sorted_and_unique():
    lists = {name(p): exported(p) or [] for p in MODULES}
    assert [module for module, names in lists.items() if names != sorted(set(names))] == []


def test_names_say_something():
    parts = {name(p): p.relative_to(PACKAGE).with_suffix("").parts for p in MODULES}
    vague = [m for m, words in parts.items() if FORBIDDEN_NAMES & {word.lstrip("_") for word in words}]
    assert vague == []


def unit_test_of(module: Path) -> Path:
    place = module.relative_to(PACKAGE)
    return ROOT / "tests" / "unit" / place.parent / f"test_{place.name}"


def wants_unit_test(module: Path) -> bool:
    return not module.name.startswith("__")


def test_modules_have_their_unit_tests():
    modules = {m.relative_to(PACKAGE).as_posix(): m for m in MODULES if wants_unit_test(m)}
    untested = {place for place, module in modules.items() if not unit_test_of(module).is_file()}
    assert untested == set(WITHOUT_UNIT_TEST), "write it, or say in WITHOUT_UNIT_TEST where it is tested"


def test_imports_go_one_way():
    lint = "from importlinter.cli import import_linter; import_linter()"
    result = run("-c", lint, "lint", "--no-cache", "--no-logo")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("milepost.config.reference", "config.md"),
        ("milepost.cli.reference", "cli.md"),
        ("milepost.rest.metrics.reference", "metrics.md"),
    ],
)
def test_reference_is_what_the_code_says(module: str, name: str):
    rendering = run("-m", module)
    assert rendering.returncode == 0, rendering.stderr
    page = ROOT / "docs" / "reference" / name
    assert page.read_text(encoding="utf-8") == rendering.stdout, "run `make docs` and commit the page"


def test_readme_is_one_screen():
    assert line_count(ROOT / "README.md") <= README_LINES


def test_lock_names_versions_and_hashes_but_no_registry():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    requirements = lock.replace("\\\n", " ").splitlines()
    loose = [r for r in requirements if r and not r.startswith("#") and not ("==" in r and "--hash=" in r)]
    assert loose == []
    assert "://" not in lock
    assert "--index-url" not in lock


def test_ci_runs_exactly_the_test_target():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert script[1] == "set -euo pipefail"
    assert [line for line in script if line.startswith(("make", "exec"))] == ["make test"]


def test_make_test_leaves_nothing_out_but_chaos():
    script = (ROOT / ".ci" / "suite").read_text(encoding="utf-8").splitlines()
    assert {line for line in script if line.startswith(("shared=", "alone="))} == {
        "shared='not chaos and not alone'",
        "alone='alone and not chaos'",
    }
    runs = [line for line in script if "make" in line.split() or "pytest" in line.split()]
    assert runs == [
        "start quietly lint make lint",
        "start quietly JUnit make test-java",
        'start .venv/bin/python -m pytest "${side_by_side[@]}" -m "$shared" --durations=20 tests',
        'start .venv/bin/python -m pytest -m "$alone" tests',
    ]


def test_examples_are_valid_pipelines():
    examples = sorted((ROOT / "examples").glob("*.yaml"))
    assert examples
    assert [path for path in examples if not load_config(path).name] == []
