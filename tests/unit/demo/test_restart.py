"""Each run must start at the expected offsets, for the expected reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from milepost.config import load_config
from milepost.demo.driver import JobPosition
from milepost.demo.environment import DemoEnvironment
from milepost.demo.restart import FRESH, StartOffset, plan_lines, require_starts, starts_at, write_pipeline
from milepost.errors import VerificationError
from milepost.services import Endpoints

STOOD = JobPosition(3, {("t", 0): 22, ("t", 1): 28}, None)


def plan(*start_offsets: tuple[int, str], resumed_from: int | None = None) -> dict[str, Any]:
    return {
        "resumed-from": resumed_from,
        "partitions": [
            {"topic": "t", "partition": number, "offset": offset, "reason": reason, "latest": 50}
            for number, (offset, reason) in enumerate(start_offsets)
        ],
    }


EARLIEST = (0, "earliest: the group has no offset")


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (FRESH, plan(EARLIEST, EARLIEST)),
        (starts_at(STOOD, "checkpoint 3"), plan((22, "checkpoint 3"), (28, "checkpoint 3"), resumed_from=3)),
        (starts_at(STOOD, "group offset"), plan((22, "group offset"), (28, "group offset"))),
    ],
)
def test_a_plan_that_begins_there(expected: dict[int, StartOffset], found: dict[str, Any]) -> None:
    require_starts(expected, found)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(plan((22, "group offset"), (27, "group offset")), id="another offset"),
        pytest.param(plan((22, "checkpoint 3"), (28, "group offset")), id="another reason"),
        pytest.param(plan((22, "group offset")), id="a partition is missing"),
        pytest.param(plan(), id="no plan"),
    ],
)
def test_a_plan_that_begins_elsewhere_is_refused(found: dict[str, Any]) -> None:
    with pytest.raises(VerificationError, match="did not start at the expected offsets"):
        require_starts(starts_at(STOOD, "group offset"), found)


def test_a_plan_is_told_with_its_reasons() -> None:
    assert list(plan_lines(plan((22, "checkpoint 3"), (28, "checkpoint 3"), resumed_from=3))) == [
        "start-up plan: from checkpoint 3",
        "  partition 0 starts at 22, because: checkpoint 3",
        "  partition 1 starts at 28, because: checkpoint 3",
    ]
    assert next(plan_lines(plan(EARLIEST))) == "start-up plan: from a fresh start"


def test_the_pipeline_commits_to_its_group_and_starts_from_it(tmp_path: Path) -> None:
    environment = DemoEnvironment(tmp_path, Endpoints("127.0.0.1:1", "127.0.0.1:2"), "t")
    source = load_config(write_pipeline(environment)).views["source"]
    assert (source.group_id, source.commit, source.start) == ("t", "on-checkpoints", "group-offsets")
    assert (source.start_fallback, source.stop) == ("earliest", "never")
