"""Whoever has the newest epoch may write."""

from __future__ import annotations

import os
from datetime import datetime, timezone

import pytest

from milepost.checkpoint.lease.epoch import (
    Owner,
    begin_epoch,
    newest_epoch,
    owner_of,
    parse_owner,
    require_newest,
)
from milepost.checkpoint.store.store import Store
from milepost.errors import FencedError, LeaseHeldError

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def owner(job_id: str) -> Owner:
    return Owner(job_id=job_id, pid=7, host="north", since=NOW)


def test_an_epoch_ends_all_older_ones(store: Store):
    assert newest_epoch(store) == 0
    for epoch in (1, 2, 9, 10):
        begin_epoch(store, epoch, owner(f"j{epoch}"))
    assert newest_epoch(store) == 10
    assert store.names("milepost/epochs") == ["10"]
    assert owner_of(store, 10) == owner("j10")
    assert owner_of(store, 9) is None


def test_an_epoch_is_begun_once(store: Store):
    begin_epoch(store, 1, owner("first"))
    with pytest.raises(FileExistsError):
        begin_epoch(store, 1, owner("second"))
    assert owner_of(store, 1) == owner("first")


@pytest.mark.parametrize(
    ("begun", "mine", "refusal"),
    [
        ([3], 3, None),
        ([3, 4], 3, r"taken over .*: process 7 on north, job j4, since 2026-01-01T00:00:00\+00:00"),
        ([3, 5], 3, "Its epoch is 5, and this driver's is 3"),
        ([], 3, "Epoch 3 of .* is gone"),
        ([2], 3, "Epoch 3 of .* is gone"),
    ],
    ids=["newest", "one newer", "two newer", "removed", "set back"],
)
def test_only_the_newest_goes_on(store: Store, begun: list[int], mine: int, refusal: str | None):
    for epoch in begun:
        begin_epoch(store, epoch, owner(f"j{epoch}"))
    if refusal is None:
        require_newest(store, mine)
        return
    with pytest.raises(FencedError, match=refusal) as raised:
        require_newest(store, mine)
    assert isinstance(raised.value, LeaseHeldError)
    assert (raised.value.exit_code, raised.value.retryable) == (3, False)


def test_half_written_and_other_files_are_no_epochs(store: Store):
    for name in (".8.6e7a.tmp", "notes"):
        store.replace(f"milepost/epochs/{name}", b"")
    assert newest_epoch(store) == 0


def test_this_process_as_an_owner():
    here = Owner.here("j", NOW)
    assert (here.pid, here.since) == (os.getpid(), NOW)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"pid": 1}', b"\xff", b'{"job-id":"j","pid":1,"host":"h","since":1}']
)
def test_a_file_without_an_owner(data: bytes):
    assert parse_owner(data) is None
