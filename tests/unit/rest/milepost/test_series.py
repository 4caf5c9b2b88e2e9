"""Charts get numbers, oldest first, and only what is new where they ask for that."""

from __future__ import annotations

from tests.unit.rest.asgi import JOB, Server, completed, later

from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.store import LocalStore
from milepost.rest.milepost.series import series_body
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.history_cache import to_point
from milepost.rest.view.sampler import Sample

OWN = f"/milepost/jobs/{JOB}"
SAMPLES = [
    Sample(at=later(0), rows=1, rows_per_second=0.04),
    Sample(
        at=later(2),
        rows=9,
        rows_per_second=4.04,
        records_per_second=5.06,
        lag=3,
        lags={"t-0": 3},
        rejected=1,
        batch=7,
        tasks=4,
        acknowledged=2,
    ),
]


def test_samples_and_checkpoints():
    body = series_body(SAMPLES, [to_point(completed(3))], later(5), None)
    assert body["now"] == milliseconds(later(5))
    assert body["every-ms"] == 2000
    assert body["samples"][1] == {
        "at": milliseconds(later(2)),
        "rows": 9,
        "rows-per-second": 4.0,
        "records-per-second": 5.1,
        "lag": 3,
        "lags": {"t-0": 3},
        "rejected": 1,
        "batch": 7,
        "tasks": 4,
        "acknowledged": 2,
    }
    assert body["samples"][0]["records-per-second"] is None
    (checkpoint,) = body["checkpoints"]
    assert (checkpoint["id"], checkpoint["status"], checkpoint["duration-ms"]) == (3, "COMPLETED", 2000)


def test_only_what_is_new():
    body = series_body(SAMPLES, [to_point(completed(3))], later(5), milliseconds(later(0)))
    assert [each["rows"] for each in body["samples"]] == [9]
    assert len(body["checkpoints"]) == 1
    body = series_body(SAMPLES, [to_point(completed(3))], later(5), milliseconds(later(2)))
    assert (body["samples"], body["checkpoints"]) == ([], [])


def test_checkpoints_of_the_history_are_served(server: Server):
    History(LocalStore(server.folder)).append(completed(7))
    body = server.get(f"{OWN}/series").json
    assert [each["id"] for each in body["checkpoints"]] == [7]
    late = round(later(10).timestamp() * 1000)
    assert server.get(f"{OWN}/series?since={late}").json["checkpoints"] == []
    assert server.get(f"{OWN}/series?since=-1").status == 400
