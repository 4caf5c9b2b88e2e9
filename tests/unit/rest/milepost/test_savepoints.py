"""Savepoints with what is different about them, and what a dry run found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checkpoint.rig import checkpoint
from tests.unit.checkpoint.savepoint.test_job_outline import config
from tests.unit.rest.asgi import JOB, Server, later
from tests.unit.rest.view.stock import saved

from milepost.checkpoint.savepoint.check import Difference
from milepost.errors import NotReachableError
from milepost.inspect.offsets import PartitionOffsets
from milepost.inspect.restore_check import RestoreCheck
from milepost.inspect.retention import Standing, Verdict
from milepost.rest.milepost.savepoints import check_body, savepoints_body
from milepost.rest.view import monitor
from milepost.rest.view.restore_checks import RestoreCheckRun

OWN = f"/milepost/jobs/{JOB}"
BEGUN = RestoreCheckRun(name="s", started_at=later(0))


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


def ended(found: RestoreCheck | None, error: str | None = None) -> RestoreCheckRun:
    return replace(BEGUN, ended_at=later(1), result=found, error=error)


def test_a_savepoint_says_what_is_different_about_its_job(found: RestoreCheck):
    savepoint = found.savepoint
    body = savepoints_body({"s": savepoint}, config(), lambda _: None)
    (entry,) = body["savepoints"]
    assert (entry["name"], entry["checkpoint"], entry["size"]) == (
        "s",
        savepoint.checkpoint_id,
        savepoint.size,
    )
    assert any("the sink was" in each for each in entry["differences"])
    assert entry["check"] is None
    assert savepoints_body({"s": savepoint}, config(), lambda _: BEGUN)["savepoints"][0]["check"][
        "status"
    ] == ("IN_PROGRESS")


def test_a_restore_that_would_work(found: RestoreCheck):
    body = check_body(ended(found))
    assert (body["status"], body["restorable"], body["replayed"]) == ("COMPLETED", True, 7)
    assert "checksums match" in body["findings"][0]
    assert body["partitions"][0]["lag"] == 7


def test_a_check_that_is_not_over_says_nothing_yet():
    body = check_body(BEGUN)
    assert (body["status"], body["restorable"], body["findings"]) == ("IN_PROGRESS", None, [])


def test_differences_and_lost_partitions_are_findings(found: RestoreCheck):
    lost = replace(found.partitions[0], verdict=Verdict(Standing.UNRESTORABLE, note="gone"))
    body = check_body(
        ended(replace(found, differences=[Difference("the sink is another")], partitions=[lost]))
    )
    assert body["restorable"] is False
    assert "Different: the sink is another." in body["findings"]
    assert "Unrestorable: t-0: gone." in body["findings"]


def test_without_the_broker_nothing_is_promised(found: RestoreCheck):
    body = check_body(ended(replace(found, unasked="Kafka does not answer.")))
    assert (body["restorable"], body["replayed"], body["seconds"]) == (None, None, None)
    assert "Kafka does not answer." in body["findings"]


def test_a_savepoint_that_is_not_whole_cannot_be_restored():
    body = check_body(ended(None, "A file is missing."))
    assert (body["restorable"], body["error"]) == (False, "A file is missing.")


def test_a_savepoint_is_checked_by_its_name(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def away(*_: Any, **__: Any) -> Any:
        raise NotReachableError("Kafka does not answer")

    monkeypatch.setattr(monitor, "check_restore", away)
    taken = saved(tmp_path / "other", tmp_path / "savepoints")
    path = f"{OWN}/savepoints/{taken.name}/check"
    body = server.poll(path, "status", "COMPLETED")
    assert "Kafka does not answer." in body["findings"]
    (listed,) = server.get(f"{OWN}/savepoints").json["savepoints"]
    assert listed["check"]["findings"] == body["findings"]


@pytest.mark.parametrize("name", ["nobody", "..", "..%2fjob", "a%2fb", "a b", ".hidden", "x" * 200])
def test_what_is_no_name_in_the_directory_is_not_looked_at(server: Server, name: str):
    answer = server.get(f"{OWN}/savepoints/{name}/check")
    assert answer.status in (400, 404)
    assert name not in answer.text or name == "nobody"
