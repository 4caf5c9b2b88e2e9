from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from milepost.errors import ServicesError
from milepost.services.java import child_environment, find_java, major_version, run_tool


def fake_java(home: Path, says: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('java version "1.8.0_392"', 8),
        ("command not understood", None),
    ],
)
def test_major_version_of_every_style(text: str, version: int | None):
    assert major_version(text) == version


def test_java_home_comes_before_the_path(tmp_path: Path):
    java = fake_java(tmp_path / "a home", 'openjdk version "17.0.1"')
    assert find_java({"JAVA_HOME": str(tmp_path / "a home"), "PATH": "/nowhere"}) == java


def test_java_is_found_on_the_path(tmp_path: Path):
    java = fake_java(tmp_path, 'openjdk version "21.0.1"')
    assert find_java({"PATH": str(java.parent)}) == java


def test_old_java_is_refused_with_its_version(tmp_path: Path):
    fake_java(tmp_path, 'java version "1.8.0_392"')
    with pytest.raises(
        ServicesError, match=r"is Java 8, which is too old.*requires Java 17.*Install a JDK 17"
    ):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_java_home_without_java_is_named(tmp_path: Path):
    with pytest.raises(ServicesError, match="contains no Java"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_no_java_at_all_says_what_to_install():
    with pytest.raises(ServicesError, match=r"No Java was found.*Install a JDK 17"):
        find_java({"PATH": "/nowhere"})


def test_something_that_is_no_java_is_refused(tmp_path: Path):
    fake_java(tmp_path, "hello")
    with pytest.raises(ServicesError, match="is unknown"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_child_gets_no_java_options_of_the_shell(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-agentlib:jdwp=address=*:5005")
    environment = child_environment("a.jar")
    assert "JAVA_TOOL_OPTIONS" not in environment
    assert environment["CLASSPATH"] == "a.jar"


def test_tool_that_hangs_counts_as_failed(tmp_path: Path):
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexec sleep 60\n")
    java.chmod(0o755)
    result = run_tool(java, "", ["Main"], timeout=timedelta(milliseconds=200))
    assert result.returncode != 0
    assert "killed after" in result.stderr
