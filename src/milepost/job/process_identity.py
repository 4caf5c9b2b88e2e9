"""When a process was born: a pid alone proves nothing, it may have been given to another program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PROC = Path("/proc")


def born(pid: int) -> str | None:
    """Return an opaque text that no other process ever has with this pid, or None where there is no such process."""
    return _from_proc(pid) if (PROC / "self" / "stat").exists() else _from_ps(pid)


def _from_proc(pid: int) -> str | None:
    try:
        stat = (PROC / str(pid) / "stat").read_text(errors="replace")
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # The name in brackets may hold spaces and brackets: fields are counted after the last one.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else f"{boot}/{fields[19]}"


def _from_ps(pid: int) -> str | None:
    asked = ["ps", "-o", "lstart=", "-p", str(pid)]
    answer = subprocess.run(
        asked, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False
    )
    return answer.stdout.strip() or None
