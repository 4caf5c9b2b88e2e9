"""The check of prose: banned phrases are reported with their place and a better wording."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def prose(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ".ci/prose", str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_banned_phrase_is_reported_with_its_place_and_a_better_wording(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Restore\n\nThe job starts\nanew.\n", encoding="utf-8")
    result = prose(page)
    assert (result.returncode, result.stdout) == (1, f"{page}:4: anew => again, from scratch\n")


@pytest.mark.parametrize(
    "text",
    [
        "The job goes\non.",
        "# the job goes\n# on",
        "/**\n * The job goes\n * on.\n */",
        '("The job goes "\n    f"on.")',
    ],
)
def test_a_banned_phrase_is_found_across_lines(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page"
    page.write_text(text, encoding="utf-8")
    assert "goes" in prose(page).stdout
    assert "=> continues, resumes" in prose(page).stdout


def test_plain_prose_passes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "There is no older checkpoint. The user who starts the job is trusted.\n", encoding="utf-8"
    )
    assert prose(page).returncode == 0
