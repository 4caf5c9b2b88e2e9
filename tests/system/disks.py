"""A small file system of a test's own: it can be filled, freed and made read-only, for real."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BALLAST = "ballast"


class SmallDisk:
    """A mounted tmpfs of a few megabytes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def fill(self) -> None:
        """Leave no room for a single byte that needs a page of its own."""
        file = os.open(self.root / BALLAST, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            while True:
                os.write(file, b"\0" * 4096)
        except OSError:
            return
        finally:
            os.close(file)

    def free(self) -> None:
        (self.root / BALLAST).unlink(missing_ok=True)

    def make_read_only(self) -> None:
        _as_root("mount", "-o", "remount,ro", str(self.root))


@contextmanager
def mounted(root: Path, size: str = "8m") -> Iterator[SmallDisk]:
    """Mount the disk for the block; a test that cannot mount fails, since nothing else shows what a full disk does."""
    root.mkdir()
    _as_root("mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", str(root))
    try:
        yield SmallDisk(root)
    finally:
        _as_root("umount", "--lazy", str(root))


def _as_root(*command: str) -> None:
    words = command if os.geteuid() == 0 else ("sudo", "-n", *command)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"{' '.join(words)} failed, and this test needs a disk of its own: {done.stderr.strip()}")
