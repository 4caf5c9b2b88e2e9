"""Charts and tools over REST: bounded, by name, and for this job alone."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.rest.asgi import JOB, START, Server, completed, later
from tests.unit.rest.view.stock import saved

from milepost.checkpoint.store.history import History, JobEvent
from milepost.checkpoint.store.store import LocalStore
from milepost.errors import NotReachableError
from milepost.rest.view import monitor

OWN = f"/milepost/jobs/{JOB}"


def polled(server: Server, path: str, key: str, value: object) -> dict[str, Any]:
    pause = threading.Event()
    for _ in range(500):
        body: dict[str, Any] = server.get(path).json
        if body[key] == value:
            return body
        pause.wait(0.01)
    raise AssertionError(f"{key} is still {body[key]}")


def test_a_job_that_has_just_begun_has_empty_answers(server: Server):
    assert server.get(f"{OWN}/series").json["samples"] == []
    assert server.get(f"{OWN}/timeline").json["states"] == []
    assert len(server.get(f"{OWN}/graph").json["nodes"]) == 4
    assert server.get(f"{OWN}/savepoints").json["savepoints"] == []
    for path in ("series", "timeline", "graph", "offsets", "savepoints"):
        assert server.get(f"/milepost/jobs/{'e' * 32}/{path}").status == 404


def test_history_and_samples_are_served(server: Server):
    history = History(LocalStore(server.folder))
    history.append(JobEvent(at=START, job_id=JOB, status="RUNNING"))
    history.append(completed(7))
    body = server.get(f"{OWN}/series").json
    assert [each["id"] for each in body["checkpoints"]] == [7]
    assert [each["state"] for each in server.get(f"{OWN}/timeline").json["states"]] == ["RUNNING"]
    late = round(later(10).timestamp() * 1000)
    assert server.get(f"{OWN}/series?since={late}").json["checkpoints"] == []
    assert server.get(f"{OWN}/series?since=-1").status == 400


def test_offsets_are_asked_beside_the_request(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(monitor, "compare", lambda *_, **__: [])
    server.job.checkpoints.stats.add(completed(4))
    assert server.get(f"{OWN}/offsets").json["checkpoint"] == 4
    body = polled(server, f"{OWN}/offsets", "asking", False)
    assert body["age-ms"] is not None
    assert body["error"] is None


def test_a_savepoint_is_checked_by_its_name(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def away(*_: Any, **__: Any) -> Any:
        raise NotReachableError("Kafka does not answer")

    monkeypatch.setattr(monitor, "check_restore", away)
    taken = saved(tmp_path / "other", tmp_path / "savepoints")
    path = f"{OWN}/savepoints/{taken.name}/check"
    body = polled(server, path, "status", "COMPLETED")
    assert "Kafka does not answer." in body["findings"]
    (listed,) = server.get(f"{OWN}/savepoints").json["savepoints"]
    assert listed["check"]["findings"] == body["findings"]


@pytest.mark.parametrize("name", ["nobody", "..", "..%2fjob", "a%2fb", "a b", ".hidden", "x" * 200])
def test_what_is_no_name_in_the_directory_is_not_looked_at(server: Server, name: str):
    answer = server.get(f"{OWN}/savepoints/{name}/check")
    assert answer.status in (400, 404)
    assert name not in answer.text or name == "nobody"
