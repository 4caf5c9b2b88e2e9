"""The example of docs/participants.md does what the page says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.checkpoint.recorder import EIGHT, LONG, SEVEN, Acks, completed, take

from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.participants.participant import HOOKS

PAGE = Path(__file__).parents[3] / "docs" / "participants.md"


def example(folder: Path) -> Any:
    code = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    return names["Reports"](folder)


def published(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_report_is_published_when_its_checkpoint_is_complete(tmp_path: Path):
    participants = Participants([example(tmp_path)])
    participants.initialize(None, timeout=LONG)
    snapshot = take(participants, Acks())
    assert snapshot.extra == {"report": "7.txt"}
    assert published(tmp_path) == ["7.waiting"]
    participants.notify_complete(SEVEN, timeout=LONG)
    assert published(tmp_path) == ["7.txt"]


@pytest.mark.parametrize(
    ("resumes_from", "files"),
    [
        ("the checkpoint it was never told of", ["7.txt"]),
        ("no checkpoint", []),
    ],
)
def test_a_restart_publishes_what_was_complete_and_nothing_else(
    tmp_path: Path, resumes_from: str, files: list[str]
):
    before = Participants([example(tmp_path)])
    before.initialize(None, timeout=LONG)
    states = take(before, Acks()).states
    restored = completed(states=states) if resumes_from != "no checkpoint" else None
    after = Participants([example(tmp_path)])
    after.initialize(restored, timeout=LONG)
    assert published(tmp_path) == files


def test_an_aborted_checkpoint_leaves_no_report(tmp_path: Path):
    participants = Participants([example(tmp_path)])
    participants.initialize(None, timeout=LONG)
    take(participants, Acks())
    participants.notify_aborted(SEVEN, timeout=LONG)
    take(participants, Acks(), EIGHT)
    participants.notify_complete(EIGHT, timeout=LONG)
    assert published(tmp_path) == ["8.txt"]


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_on_the_page(hook: str):
    assert f"| `{hook}(" in PAGE.read_text(encoding="utf-8")
