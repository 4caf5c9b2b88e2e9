"""The temporary folder of the driver's JVM; the next start removes the folders of killed drivers."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from milepost.checkpoint.lease.epoch import is_alive

_PREFIX = "milepost-driver-"
_NAME = re.compile(rf"{_PREFIX}(?P<pid>\d+)-\w+")


def create() -> Path:
    """Return a new folder that only this user can read, named after this process."""
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def clear() -> None:
    """Remove the folders of this process."""
    _remove({pid: paths for pid, paths in _by_process().items() if pid == os.getpid()})


def sweep() -> list[Path]:
    """Remove the folders of drivers that have ended, and return them."""
    return _remove({pid: paths for pid, paths in _by_process().items() if not is_alive(pid)})


def _by_process() -> dict[int, list[Path]]:
    folders: dict[int, list[Path]] = {}
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        match = _NAME.fullmatch(path.name)
        if match and _is_ours(path):
            folders.setdefault(int(match["pid"]), []).append(path)
    return folders


def _remove(folders: dict[int, list[Path]]) -> list[Path]:
    removed = [path for paths in folders.values() for path in paths]
    for path in removed:
        # The next start tries again to remove what remains.
        shutil.rmtree(path, ignore_errors=True)
    return removed


def _is_ours(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.getuid()
    except FileNotFoundError:
        return False  # another start has removed it
