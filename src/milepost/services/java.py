"""Finds a recent enough Java and runs short-lived Java tools with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from milepost.errors import ServicesError

MINIMUM = 17
INSTALL = f"Install a JDK {MINIMUM} or newer and point JAVA_HOME at it, or put its `java` on PATH"

# Fast to start and small: these tools run for a second or two beside the servers.
TOOL_FLAGS = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true")


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the `java` of JAVA_HOME, or else of PATH, after checking its version."""
    java = _locate(environment)
    answer = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=False)
    version = major_version(answer.stderr + answer.stdout)
    if version is None:
        raise ServicesError(
            f"The version of {java} is unknown",
            why=f"`java -version` ended with {answer.returncode} and printed: {answer.stderr.strip()[:200]!r}",
            fix=INSTALL,
        )
    if version < MINIMUM:
        raise ServicesError(
            f"{java} is Java {version}, which is too old", why=f"Kafka requires Java {MINIMUM}", fix=INSTALL
        )
    return java


def major_version(text: str) -> int | None:
    """Return 17 for `openjdk version "17.0.15"`, 8 for `java version "1.8.0_392"`, None for anything else."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def child_environment(classpath: str) -> dict[str, str]:
    """Return the environment of our JVMs, without the JVM options of the user's shell."""
    foreign = {"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"}
    kept = {name: value for name, value in os.environ.items() if name not in foreign}
    # The class path is here so that the command line stays readable; UTF-8 is for paths with accents.
    return {**kept, "CLASSPATH": classpath, "LC_ALL": "C.UTF-8"}


def run_tool(
    java: Path, classpath: str, command: Sequence[str], *, timeout: timedelta
) -> subprocess.CompletedProcess[str]:
    """Run one Java tool to its end; a tool that exceeds the timeout is killed and counts as failed."""
    line = [str(java), *TOOL_FLAGS, *command]
    try:
        return subprocess.run(
            line,
            env=child_environment(classpath),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout.total_seconds(),
            # Its own session: Ctrl-C is for us, not for the tool.
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(line, -1, "", f"killed after {timeout.total_seconds():.0f} s")


def _locate(environment: Mapping[str, str]) -> Path:
    home = environment.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if os.access(java, os.X_OK):
            return java
        raise ServicesError(
            f"JAVA_HOME is {home}, which contains no Java", why=f"{java} is not executable", fix=INSTALL
        )
    found = shutil.which("java", path=environment.get("PATH"))
    if found is None:
        raise ServicesError(
            "No Java was found", why="JAVA_HOME is not set and there is no `java` on PATH", fix=INSTALL
        )
    return Path(found)
