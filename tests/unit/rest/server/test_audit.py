"""A line per change, of bounded length, in files of bounded size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from milepost.checkpoint.store.store import Store
from milepost.rest.server.access import Role
from milepost.rest.server.audit import Audit, Change


def change(body: bytes = b"", path: str = "/jobs/x/stop", role: Role | None = Role.ADMIN) -> Change:
    return Change(method="POST", path=path, client="127.0.0.1", body=body, status=202, role=role)


def lines(folder: Path, name: str = "audit.jsonl") -> list[dict]:
    return [json.loads(line) for line in (folder / "milepost" / name).read_text().splitlines()]


def test_what_was_asked_is_written_down(tmp_path: Path):
    Audit(Store.at(str(tmp_path))).write(change(b'{"drain": true, "targetDirectory": "/s"}'))
    (line,) = lines(tmp_path)
    assert line["parameters"] == {"drain": True, "targetDirectory": "/s"}
    assert (line["method"], line["client"], line["status"]) == ("POST", "127.0.0.1", 202)


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_not_repeated(body: bytes, tmp_path: Path):
    Audit(Store.at(str(tmp_path))).write(change(body))
    assert lines(tmp_path)[0]["parameters"] is None


def test_long_and_strange_values_stay_one_short_line(tmp_path: Path):
    body = json.dumps({"k" * 500: "v" * 5000, "e": "\x1b[31m\nnext", "n": {"deep": [1]}}).encode()
    Audit(Store.at(str(tmp_path))).write(change(body, path="/" + "p" * 5000))
    text = (tmp_path / "milepost" / "audit.jsonl").read_text()
    assert len(text) < 1500
    assert text.count("\n") == 1
    assert "\x1b" not in text


def test_an_old_file_makes_room(tmp_path: Path):
    audit = Audit(Store.at(str(tmp_path)), rotate_at=300)
    for _ in range(4):
        audit.write(change())
    assert lines(tmp_path)
    assert lines(tmp_path, "audit.1.jsonl")
    assert (tmp_path / "milepost" / "audit.jsonl").stat().st_size <= 300


def test_a_disk_that_does_not_answer_keeps_nobody_from_it(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "milepost").write_text("a file where the folder should be")
    Audit(Store.at(str(tmp_path))).write(change())
    assert "not written to the audit log" in caplog.text


def test_a_flood_of_refused_ones_is_counted_not_written(tmp_path: Path):
    now = [0.0]
    audit = Audit(Store.at(str(tmp_path)), clock=lambda: now[0])
    flood = [change(role=None)] * 500 + [change(role=Role.READ)] * 500
    due = [each for each in flood if audit.should_write(each)]
    assert len(due) == 20
    now[0] = 1.5
    assert audit.should_write(change(role=None))
    audit.write(change(role=None))
    audit.write(change(role=None))
    assert [line.get("left-out-before") for line in lines(tmp_path, "refused.jsonl")] == [980, None]


def test_who_may_ask_is_written_down_beside_any_flood(tmp_path: Path):
    audit = Audit(Store.at(str(tmp_path)), clock=lambda: 0.0)
    while audit.should_write(change(role=None)):
        audit.write(change(role=None))
    assert audit.should_write(change())
    audit.write(change())
    assert [line["principal"] for line in lines(tmp_path)] == ["admin"]
