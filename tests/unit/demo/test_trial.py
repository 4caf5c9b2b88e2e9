"""A trial's pipeline is one that a user could write, and its crash is one that happened."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from milepost.config import Config, load_config
from milepost.demo import trial
from milepost.demo.alignment_story import COUNTS, RECORDS
from milepost.demo.driver import Standing
from milepost.demo.environment import Stage
from milepost.demo.trial import Play, Trial, document, topics_of
from milepost.errors import JobFailedError
from milepost.services import Endpoints


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, Endpoints("127.0.0.1:1", "127.0.0.1:2"), "alignment")


@pytest.mark.parametrize(
    ("given", "version"),
    [(COUNTS, "checkpoint"), (RECORDS["exactly-once"], "offset"), (RECORDS["at-least-once"], "server-time")],
)
def test_the_version_follows_from_what_is_written_in_which_mode(
    stage: Stage, given: Trial, version: str
) -> None:
    config = Config(**document(stage, given))
    assert config.sink.hbase.version == version
    assert config.checkpointing.mode == given.mode
    assert list(config.views) == ["one", "two"]


def test_every_trial_has_topics_a_table_and_a_directory_of_its_own(stage: Stage) -> None:
    trials = [COUNTS, *RECORDS.values()]
    configs = [Config(**document(stage, each)) for each in trials]
    assert len({topic for each in trials for topic in topics_of(stage, each)}) == 2 * len(trials)
    assert len({config.sink.hbase.table for config in configs}) == len(trials)
    assert len({config.checkpointing.dir for config in configs}) == len(trials)


class Ended:
    """Stands for a driver that is over."""

    code = 0

    def __init__(self, *_: object, environment: dict[str, str]) -> None:
        assert environment == {"MILEPOST_FAILPOINTS": "6-seal-before=kill"}

    def __enter__(self) -> Ended:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def wait(self, *, timeout: float) -> int:
        assert timeout > 0
        return self.code


@pytest.fixture
def play(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Play:
    """A trial without Kafka, HBase and Spark around it."""
    monkeypatch.setattr(trial, "create_topic", lambda *_: None)
    monkeypatch.setattr(trial, "_create_table", lambda *_: None)
    monkeypatch.setattr(trial, "Driver", Ended)
    return Play(stage, None, COUNTS)  # type: ignore[arg-type]


def test_the_file_says_what_runs_in_this_process(stage: Stage, play: Play) -> None:
    file = stage.folder / "counts.yaml"
    assert load_config(file) == play.config
    assert yaml.safe_load(file.read_text(encoding="utf-8"))["checkpointing"]["interval"] == "1h"


@pytest.mark.parametrize(
    ("code", "in_flight", "is_crash"), [(-9, 3, True), (0, 3, False), (-9, None, False), (1, None, False)]
)
def test_only_a_kill_in_mid_checkpoint_is_the_crash(
    play: Play, monkeypatch: pytest.MonkeyPatch, code: int, in_flight: int | None, is_crash: bool
) -> None:
    monkeypatch.setattr(Ended, "code", code)
    monkeypatch.setattr(trial, "look", lambda _: Standing(2, {}, in_flight))
    if is_crash:
        assert play.crash() == in_flight
    else:
        with pytest.raises(JobFailedError, match=f"exit code {code} instead of a kill"):
            play.crash()
