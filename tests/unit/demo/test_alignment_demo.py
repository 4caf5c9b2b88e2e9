"""The alignment demo checks what it observes, and prints all results before it fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import pytest

from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint, Trigger
from milepost.demo import alignment_demo
from milepost.demo.alignment_demo import Observations, run
from milepost.demo.environment import DemoEnvironment, DemoOptions
from milepost.demo.pipeline_variant import PipelineVariant
from milepost.errors import VerificationError
from milepost.services import Endpoints
from milepost.verify.compare import RawCell

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def checkpoint(number: int, one: int, two: int) -> CompletedCheckpoint:
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(number),
        trigger=Trigger.ON_DEMAND,
        triggered_at=NOON,
        completed_at=NOON,
        job_id="j",
        epoch=1,
        sources=({"alignment-counts-one": {0: one}}, {"alignment-counts-two": {0: two}}),
    )


def counted(number: int, one: int, two: int) -> list[RawCell]:
    return [
        (b"one", "d", b"n", number, "Put", str(one).encode()),
        (b"two", "d", b"n", number, "Put", str(two).encode()),
    ]


def counts(*, replayed_two: int = 125, last: tuple[int, int] = (140, 140)) -> Observations:
    at_cut, at_crash = counted(1, 100, 105), counted(2, 130, replayed_two)
    cuts = {1: checkpoint(1, 100, 105), 2: checkpoint(2, 130, 125), 3: checkpoint(3, *last)}
    after = at_cut + at_crash + counted(3, *last)
    return Observations(
        aligned=cuts[1], before=at_cut, crashed=at_cut + at_crash, after=after, manifests=cuts
    )


def records(*, written: int = 255, twice: int = 0) -> Observations:
    rows = [(str(n).encode(), "d", b"value", 7, "Put", b"x") for n in range(280)]
    again = [(row, family, name, 8, kind, value) for row, family, name, _, kind, value in rows[:twice]]
    return Observations(
        aligned=checkpoint(1, 100, 105),
        before=list(rows[:205]),
        crashed=list(rows[:written]),
        after=[*rows, *again],
        manifests={},
    )


def run_demo(monkeypatch: pytest.MonkeyPatch, folder: Path, **observed: Observations) -> list[str]:
    """Run the demo with these observations instead of Kafka, HBase and Spark; return the printed lines."""

    @contextmanager
    def demo_environment(_demo: DemoOptions, name: str) -> Iterator[DemoEnvironment]:
        yield DemoEnvironment(folder, Endpoints("127.0.0.1:1", "127.0.0.1:2"), name)

    @contextmanager
    def no_session(*_: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(alignment_demo, "demo_environment", demo_environment)
    monkeypatch.setattr(alignment_demo, "session", no_session)
    monkeypatch.setattr(alignment_demo, "spark_conf", lambda *_: {})
    monkeypatch.setattr(alignment_demo, "VariantRun", lambda _environment, _spark, variant: variant)

    def run_with_crash(_demo: DemoOptions, variant: PipelineVariant) -> Observations:
        return observed[variant.name.replace("-", "_")]

    monkeypatch.setattr(alignment_demo, "_run_with_crash", run_with_crash)
    said: list[str] = []
    run(DemoOptions(say=said.append))
    return said


GOOD = {"counts": counts(), "exactly_once": records(), "at_least_once": records(twice=50)}


def test_a_good_run_ends_with_both_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = run_demo(monkeypatch, tmp_path, **GOOD)
    assert [line.split()[-3:] for line in said if "before the crash" in line] == [["before", "the", "crash"]]
    assert sum("equal" in line for line in said) == 5
    assert said[-2:] == [
        "   exactly-once   offset       280      280           0",
        "   at-least-once  server-time  280      230           50",
    ]


@pytest.mark.parametrize(
    ("part", "observed", "sentence"),
    [
        ("counts", counts(replayed_two=126), r"at checkpoint 2, after the restart, .*\(130, 126\)"),
        ("counts", counts(last=(141, 140)), r"the checkpoints are at .*instead of"),
        ("exactly_once", records(twice=1), "exactly-once: 279 records were written once, 1 twice"),
        ("exactly_once", records(written=205), "205 of 255 records were in the table at the crash"),
        ("at_least_once", records(), "at-least-once: 280 records were written once, 0 twice"),
    ],
)
def test_an_unexpected_result_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, part: str, observed: Observations, sentence: str
) -> None:
    with pytest.raises(VerificationError) as caught:
        run_demo(monkeypatch, tmp_path, **(GOOD | {part: observed}))
    assert re.search(sentence, caught.value.why)
