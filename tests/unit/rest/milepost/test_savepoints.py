"""Savepoints with what is different about them, and what a dry run found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.checkpoint.rig import checkpoint
from tests.unit.checkpoint.savepoint.test_job_outline import config
from tests.unit.rest.asgi import later
from tests.unit.rest.view.stock import saved

from milepost.checkpoint.savepoint.check import Difference
from milepost.inspect.offsets import PartitionOffsets
from milepost.inspect.restore_check import RestoreCheck
from milepost.inspect.retention import Standing, Verdict
from milepost.rest.milepost.savepoints import check, listing
from milepost.rest.view.restore_checks import Check

BEGUN = Check(name="s", began_at=later(0))


@pytest.fixture
def found(tmp_path: Path) -> RestoreCheck:
    parts = [
        PartitionOffsets(
            topic="t", partition=0, checkpoint=3, latest=10, verdict=Verdict(Standing.RESTORABLE)
        )
    ]
    return RestoreCheck(
        savepoint=saved(tmp_path / "job", tmp_path / "savepoints"),
        checkpoint=checkpoint(3),
        partitions=parts,
        differences=(),
    )


def ended(found: RestoreCheck | None, error: str | None = None) -> Check:
    return replace(BEGUN, ended_at=later(1), rehearsal=found, error=error)


def test_a_savepoint_says_what_is_different_about_its_job(found: RestoreCheck):
    savepoint = found.savepoint
    body = listing({"s": savepoint}, config(), lambda _: None)
    (entry,) = body["savepoints"]
    assert (entry["name"], entry["checkpoint"], entry["size"]) == (
        "s",
        savepoint.checkpoint_id,
        savepoint.size,
    )
    assert any("the sink was" in each for each in entry["differences"])
    assert entry["check"] is None
    assert listing({"s": savepoint}, config(), lambda _: BEGUN)["savepoints"][0]["check"]["status"] == (
        "IN_PROGRESS"
    )


def test_a_restore_that_would_work(found: RestoreCheck):
    body = check(ended(found))
    assert (body["status"], body["restorable"], body["replayed"]) == ("COMPLETED", True, 7)
    assert "checksums are right" in body["findings"][0]
    assert body["partitions"][0]["lag"] == 7


def test_a_check_that_is_not_over_says_nothing_yet():
    body = check(BEGUN)
    assert (body["status"], body["restorable"], body["findings"]) == ("IN_PROGRESS", None, [])


def test_differences_and_lost_partitions_are_findings(found: RestoreCheck):
    lost = replace(found.partitions[0], verdict=Verdict(Standing.UNRESTORABLE, note="gone"))
    body = check(ended(replace(found, differences=[Difference("the sink is another")], partitions=[lost])))
    assert body["restorable"] is False
    assert "Different: the sink is another." in body["findings"]
    assert "Gone: t-0: gone." in body["findings"]


def test_without_the_broker_nothing_is_promised(found: RestoreCheck):
    body = check(ended(replace(found, unasked="Kafka does not answer.")))
    assert (body["restorable"], body["replayed"], body["seconds"]) == (None, None, None)
    assert "Kafka does not answer." in body["findings"]


def test_a_savepoint_that_is_not_whole_cannot_be_restored():
    body = check(ended(None, "A file is missing."))
    assert (body["restorable"], body["error"]) == (False, "A file is missing.")
