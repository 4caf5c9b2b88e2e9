"""The demo's pipeline is a valid one that the checker can model."""

from __future__ import annotations

from pathlib import Path

from milepost.config import load_config
from milepost.demo.environment import DemoEnvironment
from milepost.demo.exactly_once import ExactlyOnce, write_pipeline
from milepost.services import Endpoints
from milepost.verify.proof import mapping_of


def test_the_pipeline_is_what_a_user_would_write(tmp_path: Path) -> None:
    folder = tmp_path / "with a space"
    folder.mkdir()
    environment = DemoEnvironment(folder, Endpoints("127.0.0.1:1", "127.0.0.1:2"), "orders")
    config = load_config(write_pipeline(environment, ExactlyOnce(records=24_000)))
    assert mapping_of(config).columns == (
        ("d", "customer", "customer"),
        ("d", "amount", "amount"),
        ("d", "seq", "seq"),
    )
    source = config.views["source"]
    assert source.max_offsets_per_trigger == 1000
    assert config.checkpointing.dir == str(folder / "checkpoint")


def test_the_demo_is_long_enough() -> None:
    demo = ExactlyOnce()
    assert demo.records >= 200_000
    assert demo.kills == 2
