"""Spans reach a collector, and one that is away disturbs nobody."""

from __future__ import annotations

import importlib.util
import socket
import time
from dataclasses import replace
from typing import Any

import pytest
from tests.otlp import attributes, collecting
from tests.unit.checkpoint.rig import START, checkpoint
from tests.unit.config.conftest import changed
from tests.unit.job.monitoring.test_spans import COMPLETED

from milepost.config import Config, parse_config
from milepost.errors import PreflightError
from milepost.job.monitoring import span_sender
from milepost.job.monitoring.span_sender import SpanSender, require

JOB = "0123456789abcdef0123456789abcdef"


def config(address: str, **more: Any) -> Config:
    return parse_config(changed({"telemetry/otlp-endpoint": address, **more}))


def test_spans_arrive_with_parents_resource_and_headers():
    with collecting() as collector:
        sender = SpanSender(
            config(collector.address, **{"telemetry/headers": {"X-Key": "blue-whale"}}), JOB, print
        )
        sender.initialized(START, START, None)
        sender.completed(COMPLETED)
        sender.close()
    (whole,) = collector.named("Checkpoint")
    children = [span for span in collector.spans if span.parent_span_id == whole.span_id]
    assert sorted(span.name for span in children) == [
        "Checkpoint_Complete",
        "Checkpoint_Subtask",
        "Checkpoint_Subtask",
    ]
    assert {span.trace_id for span in children} == {whole.trace_id}
    assert whole.end_time_unix_nano - whole.start_time_unix_nano == 3_000_000_000
    assert attributes(whole)["checkpointId"] == 7
    assert [span.name for span in collector.named("JobInitialization")] == ["JobInitialization"]
    assert collector.resources[0] | {"service.name": "orders", "job_id": JOB} == collector.resources[0]
    assert collector.headers[0]["x-key"] == "blue-whale"


def test_a_collector_that_is_away_is_told_of_once_and_holds_nobody_up(caplog: pytest.LogCaptureFixture):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and not listening
        told: list[str] = []
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        sender = SpanSender(config(address, **{"telemetry/timeout": "1s"}), JOB, told.append)
        began = time.monotonic()
        for number in range(3 * span_sender.QUEUE):
            sender.completed(replace(checkpoint(number), acknowledgements=()))
        assert time.monotonic() - began < 10
        sender.close()
        assert time.monotonic() - began < 25
    assert [sentence.split(" cannot")[0] for sentence in told] == ["Spans"]
    assert caplog.text == ""


def test_missing_packages_are_told_with_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(span_sender, "find_spec", lambda _: None)
    with pytest.raises(PreflightError) as refused:
        require(config("http://127.0.0.1:4318"))
    assert "pip install 'milepost[opentelemetry]'" in refused.value.fix
    require(parse_config(changed({})))


def test_the_packages_are_here():
    assert importlib.util.find_spec("opentelemetry.sdk") is not None
    require(config("http://127.0.0.1:4318"))
