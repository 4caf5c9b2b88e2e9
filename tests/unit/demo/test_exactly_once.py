"""The demo's pipeline is a valid one that the checker can model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from milepost.config import load_config
from milepost.demo import exactly_once
from milepost.demo.exactly_once import Story, write_pipeline
from milepost.errors import MilepostError
from milepost.verify import Finding, Kind, Report
from milepost.verify.proof import mapping_of


def test_the_pipeline_is_what_a_user_would_write(tmp_path: Path) -> None:
    folder = tmp_path / "with a space"
    folder.mkdir()
    config = load_config(write_pipeline(folder, Story(records=24_000), "127.0.0.1:1", "127.0.0.1:2"))
    assert mapping_of(config).columns == (
        ("d", "customer", "customer"),
        ("d", "amount", "amount"),
        ("d", "seq", "seq"),
    )
    source = config.views["source"]
    assert source.max_offsets_per_trigger == 1000
    assert config.checkpointing.dir == str(folder / "checkpoint")


def test_the_story_is_long_enough_to_be_believed() -> None:
    story = Story()
    assert story.records >= 200_000
    assert story.kills == 2


class Silent:
    """Stands for the producer where nothing is produced."""

    def __init__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass


@contextmanager
def no_services(_story: Story, _folder: Path) -> Iterator[tuple[str, str]]:
    yield "127.0.0.1:1", "127.0.0.1:2"


def tell(
    monkeypatch: pytest.MonkeyPatch, folder: Path, prove: Callable[..., Report], **changes: bool
) -> tuple[list[str], list[str]]:
    """Run the story without its heavy parts and return what was said and warned."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for name, double in {
        "_services": no_services,
        "LiveProducer": Silent,
        "_produce_backlog": lambda *_: None,
        "_survive": lambda *_: None,
        "_prove": prove,
    }.items():
        monkeypatch.setattr(exactly_once, name, double)
    said: list[str] = []
    warned: list[str] = []
    story = Story(say=said.append, warn=warned.append, **changes)
    with suppress(MilepostError, KeyboardInterrupt):
        exactly_once.run(story)
    return said, warned


def differing(*_: object) -> Report:
    report = Report(records=9)
    report.add(Finding(Kind.MISSING, b"r", "d", b"q", "'a' @ 1", "nothing"))
    return report


def test_nothing_is_left_behind_when_all_is_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tell(monkeypatch, tmp_path, lambda *_: Report(records=9))
    assert list(tmp_path.iterdir()) == []


def test_differences_are_told_with_examples_and_the_logs_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said, warned = tell(monkeypatch, tmp_path, differing)
    assert any("MISSING row 'r' d:q" in line for line in said)
    assert said[-1] == "DIFFERENCES records=9 missing=1 extra=0 stale=0 duplicates=0"
    (kept,) = tmp_path.iterdir()
    assert str(kept) in warned[0]


def test_an_interrupted_demo_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: object) -> Report:
        raise KeyboardInterrupt

    tell(monkeypatch, tmp_path, interrupted)
    assert list(tmp_path.iterdir()) == []


def test_what_is_to_be_kept_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, warned = tell(monkeypatch, tmp_path, lambda *_: Report(records=9), keep=True)
    assert [str(path) in warned[0] for path in tmp_path.iterdir()] == [True]
