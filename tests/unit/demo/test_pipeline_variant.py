"""The pipeline of a variant is a valid document, and only a kill counts as its crash."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from milepost.config import Config, load_config
from milepost.demo import pipeline_variant
from milepost.demo.alignment_demo import COUNTS, RECORDS
from milepost.demo.driver import JobPosition
from milepost.demo.environment import DemoEnvironment
from milepost.demo.pipeline_variant import PipelineVariant, VariantRun, document, topics_of
from milepost.errors import JobFailedError
from milepost.services import Endpoints


@pytest.fixture
def environment(tmp_path: Path) -> DemoEnvironment:
    return DemoEnvironment(tmp_path, Endpoints("127.0.0.1:1", "127.0.0.1:2"), "alignment")


@pytest.mark.parametrize(
    ("given", "version"),
    [(COUNTS, "checkpoint"), (RECORDS["exactly-once"], "offset"), (RECORDS["at-least-once"], "server-time")],
)
def test_the_version_follows_from_what_is_written_in_which_mode(
    environment: DemoEnvironment, given: PipelineVariant, version: str
) -> None:
    config = Config(**document(environment, given))
    assert config.sink.hbase.version == version
    assert config.checkpointing.mode == given.mode
    assert list(config.views) == ["one", "two"]


def test_every_variant_has_its_own_topics_table_and_directory(environment: DemoEnvironment) -> None:
    variants = [COUNTS, *RECORDS.values()]
    configs = [Config(**document(environment, each)) for each in variants]
    assert len({topic for each in variants for topic in topics_of(environment, each)}) == 2 * len(variants)
    assert len({config.sink.hbase.table for config in configs}) == len(variants)
    assert len({config.checkpointing.dir for config in configs}) == len(variants)


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
def variant_run(environment: DemoEnvironment, monkeypatch: pytest.MonkeyPatch) -> VariantRun:
    """A variant without Kafka, HBase and Spark around it."""
    monkeypatch.setattr(pipeline_variant, "create_topic", lambda *_: None)
    monkeypatch.setattr(pipeline_variant, "_create_table", lambda *_: None)
    monkeypatch.setattr(pipeline_variant, "Driver", Ended)
    return VariantRun(environment, None, COUNTS)  # type: ignore[arg-type]


def test_the_file_says_what_runs_in_this_process(
    environment: DemoEnvironment, variant_run: VariantRun
) -> None:
    file = environment.folder / "counts.yaml"
    assert load_config(file) == variant_run.config
    assert yaml.safe_load(file.read_text(encoding="utf-8"))["checkpointing"]["interval"] == "1h"


@pytest.mark.parametrize(
    ("code", "in_flight", "is_crash"), [(-9, 3, True), (0, 3, False), (-9, None, False), (1, None, False)]
)
def test_only_a_kill_in_mid_checkpoint_is_the_crash(
    variant_run: VariantRun, monkeypatch: pytest.MonkeyPatch, code: int, in_flight: int | None, is_crash: bool
) -> None:
    monkeypatch.setattr(Ended, "code", code)
    monkeypatch.setattr(pipeline_variant, "read_position", lambda _: JobPosition(2, {}, in_flight))
    if is_crash:
        assert variant_run.crash() == in_flight
    else:
        with pytest.raises(JobFailedError, match=f"exit code {code} instead of a kill"):
            variant_run.crash()
