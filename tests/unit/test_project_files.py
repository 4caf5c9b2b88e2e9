"""What a project has beside its code: the workflow, the templates, the hooks and the version."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def make_targets(command: str) -> list[str]:
    program, *targets = command.split()
    assert program == "make", f"{command}: everything that CI and hooks run is a target of the Makefile"
    return targets


def test_the_workflow_calls_make_targets_that_exist() -> None:
    called = [target for step in STEPS if "run" in step for target in make_targets(step["run"])]
    assert {"lint", "test", "test-unit"} == set(called) & TARGETS == set(called)


def test_the_workflow_can_only_read_and_names_no_secret() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "secrets." not in (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")


def test_every_action_is_pinned_to_a_major_version() -> None:
    actions = [step["uses"] for step in STEPS if "uses" in step]
    assert [each for each in actions if not re.fullmatch(r"actions/[a-z-]+@v\d+", each)] == []


def test_unit_tests_run_on_every_python_that_is_supported() -> None:
    supported = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
    assert WORKFLOW["jobs"]["unit"]["strategy"]["matrix"]["python"] == supported


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_an_issue_form_has_fields_with_labels_of_their_own(name: str) -> None:
    form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text(encoding="utf-8"))
    fields = [each for each in form["body"] if each["type"] != "markdown"]
    assert form["name"]
    assert form["description"]
    assert (
        len({each["id"] for each in fields})
        == len(fields)
        == len({each["attributes"]["label"] for each in fields})
    )


def test_hooks_are_local_and_call_make() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repository,) = hooks["repos"]
    assert repository["repo"] == "local"
    assert [make_targets(hook["entry"]) for hook in repository["hooks"]] == [["fmt"], ["lint"]]


def test_the_version_is_written_in_pyproject_alone() -> None:
    declared = re.search(r'^version = "([^"]+)"$', PYPROJECT, re.MULTILINE)
    assert declared
    assert version("milepost") == declared[1]
    sources = [*(ROOT / "src/milepost").rglob("*.py"), *(ROOT / "java").glob("*/src/main/**/*.java")]
    assert [path for path in sources if declared[1] in path.read_text(encoding="utf-8")] == []
