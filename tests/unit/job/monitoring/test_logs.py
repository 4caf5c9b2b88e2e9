"""Lines of the log: what they say, what they never hold."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.checkpoint.rig import FAILED, START, checkpoint
from tests.unit.config.conftest import changed

from milepost.checkpoint.model import CheckpointId, FailureReason, PendingCheckpoint, Trigger
from milepost.config import Config, parse_config
from milepost.job.monitoring.logs import (
    CheckpointLog,
    Subject,
    configure,
    escape_controls,
    jvm_settings,
)

SECRET = "blue-whale-42"
PENDING = PendingCheckpoint(
    checkpoint_id=CheckpointId(12), trigger=Trigger.PERIODIC, triggered_at=START, deadline=0
)


@pytest.fixture(autouse=True)
def loggers_as_before() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("milepost")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def config(**logging_keys: Any) -> Config:
    keys = {f"logging/{key}": value for key, value in logging_keys.items()}
    return parse_config(changed({**keys, "source/kafka/properties": {"sasl.jaas.config": SECRET}}))


def logged(**keys: Any) -> tuple[io.StringIO, Subject]:
    stream = io.StringIO()
    return stream, configure(config(**keys), stream)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_json_line_names_job_attempt_and_checkpoint():
    stream, subject = logged(format="json")
    subject.job_id, subject.attempt, subject.pending = "abc", lambda: 2, lambda: PENDING
    logging.getLogger("milepost.job").info("It %s", "works")
    (line,) = lines(stream)
    expected = {
        "level": "INFO",
        "logger": "milepost.job",
        "thread": "MainThread",
        "message": "It works",
        "job_id": "abc",
        "job_name": "orders",
        "attempt": 2,
        "checkpoint_id": 12,
    }
    assert expected.items() <= line.items()
    assert line["timestamp"].endswith("Z")
    assert "exception" not in line


def test_before_the_job_is_there_its_fields_are_empty():
    stream, _ = logged(format="json")
    logging.getLogger("milepost").info("hello")
    assert {k: lines(stream)[0][k] for k in ("job_id", "attempt", "checkpoint_id")} == {
        "job_id": None,
        "attempt": None,
        "checkpoint_id": None,
    }


def test_an_exception_is_a_field():
    stream, _ = logged(format="json")
    try:
        raise ValueError(f"refused: {SECRET}")
    except ValueError:
        logging.getLogger("milepost").exception("It failed")
    (line,) = lines(stream)
    assert "Traceback" in line["exception"]
    assert "ValueError: refused: ******" in line["exception"]


@pytest.mark.parametrize("form", ["json", "text"])
def test_secrets_are_masked(form: str):
    stream, _ = logged(format=form)
    logging.getLogger("milepost").warning("the password is %s", SECRET)
    assert SECRET not in stream.getvalue()
    assert "******" in stream.getvalue()


@pytest.mark.parametrize("form", ["json", "text"])
def test_nobody_writes_lines_of_their_own(form: str):
    stream, _ = logged(format=form)
    logging.getLogger("milepost").warning("topic %s", "a\n2026 ERROR forged\r\x1b[2J\x7f\x9b\u2028\u202e")
    (line,) = stream.getvalue().rstrip("\n").split("\n")
    assert line.isprintable()
    assert line.isascii()


def test_a_stack_trace_keeps_its_lines_in_text_and_nothing_else():
    stream, _ = logged(format="text")
    try:
        raise ValueError("first\x1b[2J\nsecond")
    except ValueError:
        logging.getLogger("milepost").exception("It failed")
    assert "\nValueError: first\\x1b[2J\nsecond" in stream.getvalue()


def test_levels():
    stream, _ = logged()
    logging.getLogger("milepost").info("quiet")
    logging.getLogger("py4j").info("quiet too")
    logging.getLogger("py4j").warning("loud")
    assert [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()] == ["WARNING py4j: loud"]


def test_checkpoints_are_told_with_their_ids():
    stream, _ = logged(format="json")
    observer = CheckpointLog()
    observer.initialized(START, START, None)
    observer.initialized(START, START, checkpoint(4))
    observer.completed(checkpoint(5))
    observer.failed(replace(FAILED, detail="audit: no"))
    observer.failed(replace(FAILED, reason=FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN))
    found = lines(stream)
    assert [(line["level"], line["checkpoint_id"]) for line in found] == [
        ("INFO", None),
        ("INFO", None),
        ("INFO", 5),
        ("WARNING", 3),
        ("INFO", 3),
    ]
    assert "from checkpoint 4" in found[1]["message"]
    assert "CHECKPOINT_DECLINED" in found[3]["message"]


def test_the_jvm_writes_the_same_form():
    assert jvm_settings(config(), "abc") == {}
    options = jvm_settings(config(format="json"), "abc")["spark.driver.extraJavaOptions"]
    assert "log4j2-json.properties" in options
    assert "-Dmilepost.job.id=abc -Dmilepost.job.name=orders" in options


def test_a_text_of_one_line():
    assert escape_controls("tab\tand ü stay, \n goes") == "tab\tand ü stay, \\n goes"
