"""The demo as a user runs it, in its short form."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

RECORDS = 24_000


@pytest.mark.timeout(420)
def test_the_demo_survives_a_kill_and_proves_it(tmp_path: Path) -> None:
    folder = tmp_path / "a place"
    folder.mkdir()
    command = [
        sys.executable,
        "-m",
        "milepost",
        "demo",
        "exactly-once",
        "--records",
        str(RECORDS),
        "--kills",
        "1",
    ]
    environment = {**os.environ, "TMPDIR": str(folder)}
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=400
    )
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert lines[-1] == f"VERIFIED records={RECORDS} missing=0 extra=0 stale=0 duplicates=0"
    assert [line for line in lines if re.search(r"killed with SIGKILL in the middle of checkpoint \d+", line)]
    assert list(folder.iterdir()) == []
    assert leftovers(folder) == []


def leftovers(folder: Path) -> list[str]:
    """Return the processes that still have something to do with the folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = " ".join(process.info["cmdline"] or ())
        if str(folder) in command:
            found.append(command)
    return found
